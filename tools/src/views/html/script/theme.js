// Colours: the system's, light or dark.

{
  const button = document.getElementById("theme");
  const THEMES = ["auto", "light", "dark"];
  let theme = 0;
  const show = () => {
    document.documentElement.dataset.theme = THEMES[theme];
    button.textContent = `Colours: ${THEMES[theme]}`;
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = (theme + 1) % THEMES.length;
    show();
  });
  show();
}

