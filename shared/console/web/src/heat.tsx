// The grid of a calendar: how much falls due, as shades.
import { useRef, useState } from 'preact/hooks';
import { level, sum } from './bars';
import type { Table, View } from './calendar';
import { DAY, HOUR, MINUTE } from './spans';
import { tick } from './state';
import { grouped, now } from './time';

const short = (count: number) =>
  count === 0 ? '·' : count < 1_000 ? String(count) : `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k`;

const STEPS: Record<string, [number, number]> = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
};

/** How long a cell is, about. */
const LONG = { day: 5 * MINUTE, week: HOUR, month: DAY };

/** The line at now in its cell, which moves. */
function Hand({ at, length }: { at: number; length: number }) {
  tick.value;
  const part = Math.min(1, Math.max(0, (now() - at) / length));
  return <i class="hand" aria-hidden="true" style={{ insetInlineStart: `${part * 100}%` }} />;
}

/** A grid of which one cell is a stop for Tab; the arrows move in it. */
export function Heat({
  table,
  end,
  view,
  chosen,
  onChoose,
}: {
  table: Table;
  /** When the shown time ends. */
  end: number;
  view: View;
  chosen: number | null;
  onChoose: (at: number) => void;
}) {
  const [here, setHere] = useState<[number, number]>([0, 0]);
  const grid = useRef<HTMLDivElement>(null);
  const cells = table.rows.flatMap((row) => row.cells).filter((cell) => cell !== undefined);
  const most = Math.max(...cells.map((cell) => cell.fullest));
  // The last cell that has begun: one may be longer than usual.
  const nowAt = now() < end ? Math.max(...cells.map(({ at }) => at).filter((at) => at <= now())) : null;
  const reach = (row: number, column: number) => {
    setHere([row, column]);
    grid.current?.querySelector<HTMLElement>(`[data-cell="${row}-${column}"]`)?.focus();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const isEnd = event.key === 'Home' || event.key === 'End';
    if (!step && !isEnd) return;
    event.preventDefault();
    if (!step) return reach(here[0], event.key === 'Home' ? 0 : table.columns.length - 1);
    reach(
      Math.max(0, Math.min(table.rows.length - 1, here[0] + step[0])),
      Math.max(0, Math.min(table.columns.length - 1, here[1] + step[1])),
    );
  };
  return (
    <div class="scrolls" tabIndex={-1}>
      <div class={`heat ${view}`} role="grid" aria-label="Occurrences" ref={grid} onKeyDown={pressed}>
        <span role="row">
          <span role="columnheader">
            <span class="vh">{view === 'day' ? 'Hour' : 'Day'}</span>
          </span>
          {table.columns.map((column) => (
            <span key={column} class="h" role="columnheader">
              {column}
            </span>
          ))}
          <span class="h end" role="columnheader">
            {view === 'day' ? 'hour' : view === 'week' ? 'day' : 'week'}
          </span>
        </span>
        {table.rows.map((one, row) => (
          <span role="row" key={row}>
            <span class={one.cells.some((cell) => cell?.at === nowAt) ? 'd today' : 'd'} role="rowheader">
              {one.label}
              {one.note && <small> {one.note}</small>}
            </span>
            {one.cells.map((cell, column) => {
              const tab = here[0] === row && here[1] === column ? 0 : -1;
              const id = `${row}-${column}`;
              if (!cell)
                return (
                  <span key={column} class="gap" role="gridcell" tabIndex={tab} data-cell={id}>
                    <span class="vh">{table.gap}</span>
                  </span>
                );
              const isChosen = chosen !== null && cell.at >= chosen && cell.at < chosen + HOUR;
              const isNow = cell.at === nowAt;
              const isOver = !isNow && cell.at < now();
              const failed = cell.failed > 0 ? `, ${grouped(cell.failed)} failed` : '';
              return (
                <span key={column} role="gridcell" aria-selected={isChosen}>
                  <button
                    type="button"
                    tabIndex={tab}
                    data-cell={id}
                    class={isOver ? 'over' : `k${level(cell.fullest, most)}`}
                    aria-current={isNow ? 'time' : undefined}
                    aria-label={`${grouped(cell.count)} on ${cell.name}${failed}`}
                    title={`${cell.name}: ${grouped(cell.count)}${isOver ? ' as the jobs are now' : ''}${failed}`}
                    onFocus={() => setHere([row, column])}
                    onClick={() => onChoose(cell.at)}
                  >
                    {short(cell.count)}
                    {/* Drawn by the style, as text of the button would have to be in its name. */}
                    {cell.failed > 0 && <b class="badge" aria-hidden="true" data-n={short(cell.failed)} />}
                    {isNow && <Hand at={cell.at} length={LONG[view]} />}
                  </button>
                </span>
              );
            })}
            <span class="s" role="gridcell">
              {grouped(sum(one.cells.map((cell) => cell?.count ?? 0)))}
            </span>
          </span>
        ))}
      </div>
    </div>
  );
}
