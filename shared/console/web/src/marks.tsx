/** One letter an occurrence, and what it means. */
export const OUTCOMES: Record<string, string> = {
  o: 'succeeded',
  r: 'succeeded after a retry',
  l: 'succeeded, late',
  f: 'failed for good',
  e: 'failed, and the error action ran',
  s: 'skipped',
  d: 'was switched off',
  u: 'under way',
  p: 'to come',
  n: 'nothing yet',
};

/** Outcomes in words, for those who do not see the marks. */
function outcomesInWords(letters: string): string {
  const counts = new Map<string, number>();
  for (const letter of letters) {
    const name = OUTCOMES[letter];
    if (name && letter !== 'n') counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => `${count} ${name}`).join(', ') || 'nothing yet';
}

/**
 * Marks of occurrences, oldest first. Shape tells before colour: a success is short and full, a failure
 * half as tall again, a late one slanted, a skipped one an outline. One path for each kind.
 */
export function Marks({
  letters,
  wide = 4,
  gap = 2,
  tall = 18,
  isHidden = false,
}: {
  /** Whether something else says it to a screen reader. */
  isHidden?: boolean;
  letters: string;
  wide?: number;
  gap?: number;
  tall?: number;
}) {
  const short = Math.round((tall * 2) / 3);
  const paths: Record<string, string> = {};
  const add = (kind: string, path: string) => (paths[kind] = (paths[kind] ?? '') + path);
  const box = (x: number, y: number, w: number, h: number) => `M${x} ${y}h${w}v${h}h${-w}z`;
  let x = 0;
  for (const letter of letters) {
    const top = tall - short;
    if (letter === '|') {
      add('now', box(x + 2, 0, 2, tall));
      x += 6 + gap;
      continue;
    }
    if (letter === 'o') add('o', box(x, top, wide, short));
    else if (letter === 'r') {
      add('f', box(x, top, wide, 3));
      add('o', box(x, top + 4.5, wide, short - 4.5));
    } else if (letter === 'l') add('l', `M${x} ${top + short / 4}l${wide} ${-short / 4}v${short}h${-wide}z`);
    else if (letter === 'f') add('f', box(x, 0, wide, tall));
    else if (letter === 'e') {
      add('f', box(x, 0, wide, tall * 0.6));
      add('l', box(x, tall * 0.7, wide, tall * 0.3));
    } else if (letter === 'd') add('d', box(x, tall - 3, wide, 3));
    else
      add(
        letter === 's' ? 's' : letter === 'p' || letter === 'u' ? 'p' : 'n',
        box(x + 0.5, top + 0.5, wide - 1, short - 1),
      );
    x += wide + gap;
  }
  return (
    <svg
      class="marks"
      {...(isHidden ? { 'aria-hidden': true } : { role: 'img', 'aria-label': outcomesInWords(letters) })}
      width={x}
      height={tall}
      viewBox={`0 0 ${Math.max(x, 1)} ${tall}`}
    >
      {Object.entries(paths).map(([kind, path]) => (
        <path key={kind} class={kind} d={path} />
      ))}
    </svg>
  );
}
