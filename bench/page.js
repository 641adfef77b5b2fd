// Paint a photo-like image on each canvas of a page.
for (const canvas of document.querySelectorAll("canvas")) {
  let seed = Number(canvas.dataset.seed);
  const chance = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const paint = canvas.getContext("2d");
  const sky = paint.createLinearGradient(0, 0, 0, canvas.height);
  sky.addColorStop(0, `hsl(${360 * chance()} 50% 60%)`);
  sky.addColorStop(1, `hsl(${360 * chance()} 40% 30%)`);
  paint.fillStyle = sky;
  paint.fillRect(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < 40; i++) {
    paint.fillStyle = `hsla(${360 * chance()}, 45%, ${20 + 50 * chance()}%, .6)`;
    paint.beginPath();
    paint.arc(canvas.width * chance(), canvas.height * chance(), 1 + 9 * chance(), 0, 7);
    paint.fill();
  }
}
