//! A browser in the hands of a test: pages, keys, the pointer and questions, by the DevTools protocol of Chromium.
//!
//! The browser's own input events reach the page as a person's do. Commands and answers are JSON, with a zero byte
//! behind each, on the file descriptors 3 and 4 of the browser.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use measure::{building::install, computer::progress::Progress, machine::doctor};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser that does not answer for this long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// The shell leads standard input and output to the descriptors of the protocol.
const START: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// A browser with one page.
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    last: u64,
    /// What the page and the browser complained of.
    pub complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts Chromium, which is installed if it is missing.
    pub fn start() -> Self {
        let lacks = || doctor::chromium_lack().into_iter().collect();
        install::provide(lacks, &Progress::detect()).unwrap();
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new("sh")
            .args(["-c", START, doctor::CHROMIUM])
            .args(["--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = process.stdin.take().unwrap();
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            loop {
                let mut message = Vec::new();
                match answers.read_until(0, &mut message) {
                    Ok(read) if read > 0 => {}
                    _ => break,
                }
                message.pop();
                let message = serde_json::from_slice(&message).unwrap();
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            process,
            commands,
            messages,
            session: None,
            last: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attached);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Sends a command and waits for its answer.
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands
            .write_all(format!("{command}\0").as_bytes())
            .unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).expect(method);
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            let is_complaint = match message["method"].as_str() {
                Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled") => true,
                Some("Log.entryAdded") => message["params"]["entry"]["level"] == "error",
                _ => false,
            };
            if is_complaint {
                self.complaints.push(message["params"].to_string());
            }
        }
    }

    /// Opens a page that is this wide.
    pub fn open(&mut self, file: &Path, width: u32) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let url = json!({ "url": format!("file://{}", file.display()) });
        self.call("Page.navigate", &url);
        self.until("document.readyState === 'complete' && location.protocol === 'file:'");
    }

    /// Shows the page for this medium, in a system with this colour scheme.
    pub fn emulate(&mut self, medium: &str, scheme: &str) {
        let features = [json!({ "name": "prefers-color-scheme", "value": scheme })];
        let media = json!({ "media": medium, "features": features });
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// Prints the page.
    pub fn print(&mut self) -> String {
        let printed = self.call("Page.printToPDF", &json!({ "printBackground": true }));
        printed["data"].as_str().unwrap().to_owned()
    }

    /// The value of an expression in the page.
    pub fn ask(&mut self, expression: &str) -> Value {
        let question = json!({ "expression": expression, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &question);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// The value of an expression that is a text.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.ask(expression);
        let text = value.as_str();
        text.unwrap_or_else(|| panic!("{expression}: {value}"))
            .to_owned()
    }

    /// The content of the first element that a selector designates.
    pub fn content(&mut self, selector: &str) -> String {
        self.text(&format!("document.querySelector({selector:?}).textContent"))
    }

    /// Waits until this holds.
    pub fn until(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.ask(expression) != true {
            assert!(Instant::now() < until, "{expression}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses and releases a key, or one with shift.
    pub fn press(&mut self, key: &str) {
        let (shift, key) = match key.strip_prefix("Shift+") {
            Some(key) => (8, key),
            None => (0, key),
        };
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            " " => (32, " "),
            text => (0, text),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({
                "type": kind, "key": key, "modifiers": shift, "windowsVirtualKeyCode": code,
            });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types a text, key after key.
    pub fn write(&mut self, text: &str) {
        for key in text.chars() {
            self.press(&key.to_string());
        }
    }

    /// Goes on from element to element until the one that has the focus is the one that a selector designates. Returns how
    /// many steps that took.
    pub fn tab_to(&mut self, selector: &str) -> u32 {
        for steps in 1..200 {
            self.press("Tab");
            if self.ask(&format!("document.activeElement.matches({selector:?})")) == true {
                return steps;
            }
        }
        panic!("no key leads to {selector}");
    }

    fn pointer(&mut self, kind: &str, (x, y): (f64, f64), is_down: bool) {
        let button = if kind == "mouseMoved" && !is_down {
            "none"
        } else {
            "left"
        };
        let event = json!({
            "type": kind, "x": x, "y": y, "button": button, "buttons": u8::from(is_down), "clickCount": 1,
        });
        self.call("Input.dispatchMouseEvent", &event);
    }

    /// The place of an element on the screen: left, top, width and height. It is brought there first.
    pub fn place(&mut self, selector: &str) -> [f64; 4] {
        let place = self.ask(&format!(
            "(() => {{
                const found = document.querySelector({selector:?});
                found.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                const box = found.getBoundingClientRect();
                return [box.left, box.top, box.width, box.height];
            }})()"
        ));
        serde_json::from_value(place).unwrap()
    }

    /// Clicks into the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let [left, top, width, height] = self.place(selector);
        let at = (left + width / 2.0, top + height / 2.0);
        self.pointer("mouseMoved", at, false);
        self.pointer("mousePressed", at, true);
        self.pointer("mouseReleased", at, false);
    }

    /// Drags the pointer over an element, between two parts of its width.
    pub fn drag(&mut self, selector: &str, from: f64, to: f64) {
        let [left, top, width, _] = self.place(selector);
        let at = |part: f64| (left + width * part, top + 20.0);
        self.pointer("mouseMoved", at(from), false);
        self.pointer("mousePressed", at(from), true);
        self.pointer("mouseMoved", at(f64::midpoint(from, to)), true);
        self.pointer("mouseMoved", at(to), true);
        self.pointer("mouseReleased", at(to), false);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self
            .commands
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
