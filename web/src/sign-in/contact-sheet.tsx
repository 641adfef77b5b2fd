/** A decorative contact sheet: frames of pages, one of them picked. */

const FRAME_WIDTH = 120;
const FRAME_HEIGHT = 84;
const STEP_X = FRAME_WIDTH + 24;
const STEP_Y = FRAME_HEIGHT + 44;
const COLUMNS = 4;
const ROWS = 6;
const PICKED = 9;
const ORDER = [0, 1, 2, 3, 2, 0, 3, 1, 3, 2, 1, 0, 1, 3, 0, 2, 0, 2, 3, 1, 3, 1, 2, 0];

/** The boxes on a page, in a frame of 120 by 84: x, y, width, height. */
const PAGES: readonly (readonly [number, number, number, number][])[] = [
  [
    [10, 10, 40, 6],
    [10, 24, 100, 24],
    [10, 56, 30, 18],
    [45, 56, 30, 18],
    [80, 56, 30, 18],
  ],
  [
    [10, 10, 28, 6],
    [10, 24, 56, 4],
    [10, 34, 56, 10],
    [10, 50, 56, 10],
    [10, 66, 26, 9],
    [78, 24, 32, 51],
  ],
  [
    [10, 10, 100, 34],
    [10, 52, 64, 5],
    [10, 62, 88, 4],
    [10, 70, 76, 4],
  ],
  [
    [10, 10, 22, 64],
    [40, 10, 70, 8],
    [40, 26, 32, 22],
    [78, 26, 32, 22],
    [40, 54, 70, 20],
  ],
];

export function ContactSheet() {
  return (
    <svg
      class="contact-sheet"
      viewBox={`0 0 ${COLUMNS * STEP_X + 24} ${ROWS * STEP_Y + 24}`}
      preserveAspectRatio="xMinYMid slice"
      aria-hidden="true"
    >
      {Array.from({ length: COLUMNS * ROWS }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a drawing that never changes
        <SheetFrame key={index} index={index} />
      ))}
    </svg>
  );
}

function SheetFrame({ index }: { index: number }) {
  const x = 24 + (index % COLUMNS) * STEP_X;
  const y = 36 + Math.floor(index / COLUMNS) * STEP_Y;
  const boxes = PAGES[ORDER[index] ?? 0] ?? [];
  return (
    <g transform={`translate(${x} ${y})`} class={index === PICKED ? "frame picked" : "frame"}>
      <rect class="page-of-frame" width={FRAME_WIDTH} height={FRAME_HEIGHT} />
      {boxes.map(([left, top, width, height]) => (
        <rect key={`${left} ${top}`} class="box" x={left} y={top} width={width} height={height} />
      ))}
      {index === PICKED && (
        <rect class="pick" x={-7} y={-7} width={FRAME_WIDTH + 14} height={FRAME_HEIGHT + 14} rx={3} />
      )}
      <text x="0" y={FRAME_HEIGHT + 17}>
        {index + 1}
      </text>
      <text x={FRAME_WIDTH} y={FRAME_HEIGHT + 17} text-anchor="end">
        {index + 1}A
      </text>
    </g>
  );
}
