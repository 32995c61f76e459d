// What happened in a short time: what a mark on the wall or an hour of the calendar stands for, one by one.
import type { JobAt } from './answers';
import { api, ApiError } from './api';
import { iso } from './bars';
import { useLoad, whenKnown } from './load';
import { each } from './many';
import { Marks, OUTCOMES } from './marks';
import { failuresSince } from './needs';
import { causeOf, isBad, nameOf, type Occurred, occurrences } from './outcome';
import { inPlace, me, pageOf, place, placeOf, route } from './state';
import { civil, grouped, now, wideZone } from './time';
import { Panel, Title } from './ui';

/** How many occurrences are asked for, of how many jobs it is read what became of them, and how many are shown. */
const DUE_MAX = 500;
const JOBS_MAX = 40;
const SHOWN_MAX = 200;

interface Line extends JobAt {
  /** What became of it; `null` if that was not read, or is to come. */
  one: Occurred | null;
}

interface Then {
  lines: Line[];
  /** Whether that is all. */
  isWhole: boolean;
}

/** What became of what was due, of what failed, and of what ran on demand: of few jobs, those that failed first. */
async function read(from: number, to: number, collection: string | undefined): Promise<Then> {
  const { group } = place.value;
  const only: Record<string, string> = collection ? { collection: `${group}/${collection}` } : {};
  const due = await api.upcoming(place.value, { ...only, from: iso(from), to: iso(to), limit: String(DUE_MAX) });
  const isIn = (at: string) => Date.parse(at) >= from && Date.parse(at) < to;
  const failed = from < now() ? await failuresSince(new Date(from), only) : null;
  // What was due by a rule of then, or was asked for, is found if the collection has few jobs.
  const rows = collection ? await api.rows(place.value, collection, '', JOBS_MAX, null) : null;
  const all = rows?.items.map(({ name }) => ({
    resourceGroup: group,
    collection: collection ?? '',
    job: name,
    at: '',
  }));
  const jobs = new Map<string, JobAt>();
  for (const one of [...(failed?.all.filter(({ at }) => isIn(at)) ?? []), ...due.items, ...(all ?? [])])
    jobs.set(nameOf(one).toLowerCase(), jobs.get(nameOf(one).toLowerCase()) ?? one);
  const looked = from < now() ? [...jobs].slice(0, JOBS_MAX) : [];
  const lines: Line[] = [];
  await each(
    looked,
    () => false,
    async ([, job]) => {
      try {
        const { items } = await api.occurrences(placeOf(job), job.collection, job.job, iso(to), 'before');
        for (const one of occurrences(items))
          if (one.due < to && Date.parse(one.of.last ?? one.of.at) >= from) lines.push({ ...job, at: one.of.at, one });
      } catch (thrown) {
        // A job that is gone has no past.
        if (!(thrown instanceof ApiError && thrown.status === 404)) throw thrown;
      }
    },
  );
  const known = new Set(looked.map(([name]) => name));
  for (const one of due.items)
    if (Date.parse(one.at) > now() || !known.has(nameOf(one).toLowerCase())) lines.push({ ...one, one: null });
  const rank = ({ one }: Line) => (one && isBad(one) ? 0 : 1);
  lines.sort((a, b) => rank(a) - rank(b) || a.at.localeCompare(b.at));
  const isWhole = from > now() ? due.complete : jobs.size <= JOBS_MAX && (rows ? rows.next === null : due.complete);
  return { lines, isWhole: isWhole && lines.length <= SHOWN_MAX };
}

/** The page of what happened from one instant to another, of a collection or of all. */
export const thenPage = (from: number, to: number, of: { resourceGroup: string; collection: string } | null) =>
  `${of ? pageOf('then', { ...of, job: '' }) : inPlace('then')}?from=${iso(from)}&to=${iso(to)}`;

export function ThenPage({ collection }: { collection: string | undefined }) {
  const { query } = route.value;
  const [from, to] = [Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? '')];
  const found = useLoad(
    `then ${location.hash} ${me.value !== null}`,
    whenKnown(() => read(from, to, collection)),
    null,
  );
  const zone = wideZone();
  const lines = found.data?.lines ?? [];
  const bad = lines.filter(({ one }) => one && isBad(one)).length;
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">
            {collection ? <a href={inPlace('jobs', collection)}>{collection}</a> : place.value.subscription} ·{' '}
            {civil(from, zone)} – {civil(to, zone)}
          </p>
          <Title voice>
            {found.data
              ? `${grouped(lines.length)} occurrence${lines.length === 1 ? '' : 's'}${from < now() ? `, ${bad ? grouped(bad) : 'none'} failed` : ' to come'}.`
              : 'What happened'}
          </Title>
        </div>
      </div>
      <section class="sheet then">
        <Panel of={found} rows={6}>
          {({ isWhole }) => (
            <>
              <table>
                <tbody>
                  {lines.slice(0, SHOWN_MAX).map(({ one, ...job }) => {
                    const letter = one?.letter ?? (Date.parse(job.at) > now() ? 'p' : '');
                    const last = one?.attempts.findLast(({ outcome }) => outcome === 'failed');
                    return (
                      <tr key={`${nameOf(job)} ${job.at}`}>
                        <td class="nowrap">{civil(Date.parse(job.at), zone)}</td>
                        <td>
                          <a href={pageOf('job', job)}>
                            <b>{job.job}</b>
                          </a>{' '}
                          {!collection && <span class="muted">{job.collection}</span>}
                        </td>
                        <td class={one && isBad(one) ? 'bad' : ''}>
                          <Marks letters={letter} isHidden /> {OUTCOMES[letter] ?? 'not looked at'}
                          {one?.of.count && `: ${grouped(one.of.count)}`}
                          {last && <span class="muted">: {causeOf(last)}</span>}
                        </td>
                        <td>
                          {Date.parse(job.at) < now() && (
                            <a href={`${pageOf('why', job)}?at=${job.at}`}>
                              Why<span class="vh"> {job.job}</span>
                            </a>
                          )}
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
              {!isWhole && <p class="none">There may be more: {JOBS_MAX} jobs were looked at.</p>}
            </>
          )}
        </Panel>
      </section>
    </>
  );
}
