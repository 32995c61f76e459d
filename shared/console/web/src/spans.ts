export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

const UNITS: [number, string, string][] = [
  [86_400, 'day', 'days'],
  [3_600, 'h', 'h'],
  [60, 'min', 'min'],
  [1, 's', 's'],
];

/** A span in at most two units: `17 h 23 min`. */
export function span(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  let left = Math.round(milliseconds / 1_000);
  const words: string[] = [];
  for (const [seconds, one, many] of UNITS) {
    const count = Math.floor(left / seconds);
    if (count > 0) words.push(`${count} ${count === 1 ? one : many}`);
    else if (words.length > 0) break;
    left -= count * seconds;
    if (words.length === 2) break;
  }
  return words.join(' ');
}

const ISO_SPAN = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;
/** The form of .NET, which answers have. */
const NET_SPAN = /^(?:(\d+)\.)?(\d\d):(\d\d):(\d\d)$/;

/** A span of a document in words, exactly: `1 h 30 min`; the text itself if it is none. */
export function isoSpan(text: string): string {
  const found = ISO_SPAN.exec(text) ?? NET_SPAN.exec(text);
  if (!found) return text;
  let left = [86_400, 3_600, 60, 1].reduce((all, seconds, place) => all + seconds * Number(found[place + 1] ?? 0), 0);
  const words = UNITS.flatMap(([seconds, one, many]) => {
    const count = Math.floor(left / seconds);
    left -= count * seconds;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  });
  return words.join(' ') || '0 s';
}

const SPAN_WORDS =
  /^(?:(\d+) ?d(?:ays?)?)? ?(?:(\d+) ?h(?:ours?)?)? ?(?:(\d+) ?m(?:in(?:utes?)?)?)? ?(?:(\d+) ?s(?:ec(?:onds?)?)?)?$/i;

/** A span in words, such as `90 s` or `1h 30m`, in ISO 8601; the text itself if it is something else. */
export function asIsoSpan(written: string): string {
  const text = written.trim().replace(/\s+/g, ' ');
  const found = text === '' ? null : SPAN_WORDS.exec(text);
  if (!found) return text;
  const part = (place: number, letter: string) =>
    found[place] === undefined ? '' : `${Number(found[place])}${letter}`;
  const time = part(2, 'H') + part(3, 'M') + part(4, 'S');
  return `P${part(1, 'D')}${time && `T${time}`}`;
}
