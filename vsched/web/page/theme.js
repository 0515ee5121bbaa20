// Runs before anything is drawn, so that the page does not flash in the other theme.
{
  let kept = null;
  try {
    kept = localStorage.getItem("vsched-theme");
  } catch {
    // Nothing may be kept here: the system's theme it is.
  }
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}
