//! What the parts that use devices read: a disk, and a server on this computer.

use std::{
    fs::File,
    io::Write,
    net::{Shutdown, TcpListener},
    path::PathBuf,
    thread,
};

use anyhow::{Context, Result};

use crate::{
    computer::temporary::Temporary,
    options::{devices::Devices, disk::Disk},
};

/// The part that receives from the server. The number of its port follows in the script's argument.
pub const RECEIVE: &str = "receive";

/// Parts that use devices, and the budgets of their host times as ratios to bare QEMU's.
pub const DEVICE_PARTS: [(&str, &str, f64); 3] = [
    ("read", "reading 8 GiB from a disk", 1.3),
    ("blocks", "4,096 blocks of 4 KiB from a disk", 2.0),
    (RECEIVE, "receiving 64 MiB over the network", 2.0),
];

/// Bytes of the disk: a shift of the block number that the script uses.
const DISK: usize = 256 << 20;

/// Bytes that the server sends.
const SENT: usize = 64 << 20;

/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

/// A disk, and a server that sends bytes to whoever connects, until the command ends.
#[derive(Debug)]
pub struct Served {
    directory: Temporary,
    port: u16,
}

impl Served {
    /// Makes the disk and starts the server.
    pub fn new() -> Result<Self> {
        let directory = Temporary::new()?;
        let mut disk = File::create(disk(&directory))?;
        let piece: Vec<u8> = (0..PIECE).map(|at| (at / 7) as u8).collect();
        for _ in 0..DISK / PIECE {
            disk.write_all(&piece)
                .context("cannot write a disk of 256 MiB; free some space in TMPDIR")?;
        }
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .context("cannot listen on this computer's loopback address")?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                // A guest that ends early is not the server's concern.
                for _ in 0..SENT / PIECE {
                    if stream.write_all(&piece).is_err() {
                        break;
                    }
                }
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
        Ok(Self { directory, port })
    }

    /// The devices of a run.
    pub fn devices(&self) -> Devices {
        Devices {
            disks: vec![Disk {
                file: disk(&self.directory),
                read_only: true,
            }],
            network: true,
            ..Devices::default()
        }
    }

    /// The script's argument for a part.
    pub fn argument(&self, part: &str) -> String {
        if part == RECEIVE {
            format!("{part}{}", self.port)
        } else {
            part.to_owned()
        }
    }
}

fn disk(directory: &Temporary) -> PathBuf {
    directory.path().join("disk")
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read, net::TcpStream};

    use super::*;

    #[test]
    fn the_disk_and_the_server_have_what_the_parts_read() {
        let served = Served::new().unwrap();
        let disk = &served.devices().disks[0];
        assert_eq!(fs::metadata(&disk.file).unwrap().len(), DISK as u64);
        for _ in 0..2 {
            let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes.len(), SENT);
        }
        assert_eq!(served.argument("read"), "read");
        assert_eq!(served.argument(RECEIVE), format!("receive{}", served.port));
    }
}
