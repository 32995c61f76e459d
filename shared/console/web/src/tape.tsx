// The tape of a job: what happened, now, and what comes.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Description } from './answers';
import { Marks, OUTCOMES } from './marks';
import type { Occurred } from './outcome';
import { tick } from './state';
import { civil, now, until, withOffset, zoneOf } from './time';

/** How many marks of the past the tape shows. */
const TAPE = 44;
/** Half of how long an occurrence that is due is said to be now: the server moves on within a minute. */
const SOON_MS = 30_000;
/** The width of a mark of the tape, of the room after it, and of the hand at now. */
const MARK = 10;
const GAP = 3;
const HAND = 6;

/** What happened, now, and what comes, as marks. The arrows walk from one to the next. */
export function Tape({
  job,
  all,
  coming,
  onOpen,
}: {
  job: Description;
  all: Occurred[];
  coming: number[];
  onOpen: (due: number) => void;
}) {
  tick.value;
  const past = all.slice(0, TAPE).reverse();
  const letters = `${past.map((one) => one.letter).join('')}|${'p'.repeat(coming.length)}`;
  const zone = zoneOf(job);
  const next = job.next === null ? null : Date.parse(job.next);
  const first = past[0];
  const tape = useRef<HTMLDivElement>(null);
  const [here, setHere] = useState<number | null>(null);
  // Where the tape is wider than the page, now is in view.
  useEffect(() => {
    if (tape.current) tape.current.scrollLeft = tape.current.scrollWidth;
  }, [letters.length]);
  const marks = [
    ...past.map(({ due, letter }) => ({ due, words: OUTCOMES[letter] ?? '', isPast: true })),
    ...coming.map((due) => ({ due, words: 'to come', isPast: false })),
  ];
  const left = (place: number) => place * (MARK + GAP) + (place >= past.length ? HAND + GAP : 0);
  const named = (place: number) => `${civil(marks[place]?.due ?? 0, zone)}: ${marks[place]?.words ?? ''}`;
  const open = (place: number) => {
    const mark = marks[place];
    if (mark?.isPast) onOpen(mark.due);
  };
  const pressed = (event: KeyboardEvent) => {
    const at = here ?? past.length - 1;
    const moves: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: marks.length - 1 };
    const to = moves[event.key];
    if (to !== undefined) setHere(Math.max(0, Math.min(marks.length - 1, to)));
    else if (event.key === 'Enter' && here !== null) open(here);
    else return;
    event.preventDefault();
  };
  return (
    <section class="sheet tape" aria-labelledby="tape">
      <h2 id="tape" class="vh">
        Tape: what happened, now, and what comes
      </h2>
      <div class="scrolls" ref={tape}>
        <div class="past">
          {marks.length === 0 ? (
            <Marks letters={letters} wide={MARK} gap={GAP} tall={38} />
          ) : (
            <div
              class="walk"
              role="listbox"
              aria-orientation="horizontal"
              aria-labelledby="tape"
              tabIndex={0}
              onKeyDown={pressed}
              onFocus={() => setHere((was) => was ?? Math.max(0, past.length - 1))}
              aria-activedescendant={here === null ? undefined : `mark-${here}`}
            >
              <Marks letters={letters} wide={MARK} gap={GAP} tall={38} isHidden />
              {marks.map((mark, place) => (
                <span
                  key={mark.due}
                  role="option"
                  id={`mark-${place}`}
                  aria-selected={place === here}
                  aria-label={named(place)}
                  title={named(place)}
                  style={{ left: `${left(place)}px`, width: `${MARK}px` }}
                  onClick={() => {
                    setHere(place);
                    open(place);
                  }}
                />
              ))}
            </div>
          )}
          <div class="lab">
            {here !== null && marks[here] ? (
              <span>
                <b>{named(here)}</b>
              </span>
            ) : (
              <span>
                {first
                  ? civil(first.due, zone)
                  : (job.present?.length ?? 0) > 0
                    ? 'Its first attempt.'
                    : 'It has not run yet.'}
              </span>
            )}
            <span>{coming.length > 0 && `to ${civil(coming.at(-1) ?? 0, zone)}`}</span>
          </div>
        </div>
      </div>
      <div class="nextup">
        {next === null ? (
          <b class="faint">nothing is due</b>
        ) : (
          <>
            <span>next</span>
            <b>{Math.abs(next - now() + SOON_MS) < SOON_MS ? 'now' : until(next)}</b>
            <span>{withOffset(next, zone)}</span>
          </>
        )}
      </div>
    </section>
  );
}
