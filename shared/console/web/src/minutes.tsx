// The minutes of an hour, and what is due in the fullest.
import { useState } from 'preact/hooks';
import { api } from './api';
import { Bars, iso, summary } from './bars';
import { parts } from './clock';
import { herd } from './crowd';
import { useLoad } from './load';
import { HOUR, MINUTE } from './spans';
import { Spread } from './spread';
import { may, me, place } from './state';
import { thenPage } from './then';
import { civil, grouped, now, oclock } from './time';
import { Panel } from './ui';

/** How many attempts AWS lets start in a second before it has added pollers: `shared/docs/aws-costs.md` has the arithmetic. */
const AWS_AT_FIRST = 208;

/** The minutes of an hour, and what is due in the fullest. */
export function Minutes({
  at,
  zone,
  only,
  limit,
}: {
  at: number;
  zone: string;
  only: Record<string, string>;
  /** How many attempts of the shown collection may start in a second. */
  limit: number | undefined;
}) {
  const { subscription, group } = place.value;
  const collection = only.collection?.slice(group.length + 1);
  const of = collection ? { resourceGroup: group, collection } : null;
  const load = useLoad(
    `minutes ${subscription} ${at} ${JSON.stringify(only)}`,
    () => api.load(place.value, { ...only, from: iso(at), to: iso(at + HOUR), step: 'PT1M' }),
    null,
  );
  const [spreading, setSpreading] = useState<number | null>(null);
  const it = parts(at, zone);
  const aSecond = limit ?? (me.value?.home === 'aws' ? AWS_AT_FIRST : null);
  const most = Math.max(...(load.data?.counts ?? [0]));
  return (
    <div class="grid cal2">
      <section class="sheet" aria-labelledby="minutes">
        <header>
          <h2 id="minutes">
            {it.day}, {oclock(it.time)} – {oclock(parts(at + HOUR, zone).time)}
          </h2>
          {load.data && <span class="muted">{summary(load.data, zone, MINUTE)}</span>}
          {at < now() && (
            <a class="btn sm" href={thenPage(at, at + HOUR, of)}>
              What happened
            </a>
          )}
          <span class="r">a minute</span>
        </header>
        <Panel of={load} rows={3}>
          {(data) => (
            <div class="hour">
              <Bars
                data={data}
                step={MINUTE}
                zone={zone}
                label="Occurrences a minute"
                {...(aSecond && { limit: aSecond * 60 })}
              />
              {aSecond && (
                <p class="faint">
                  {limit ? 'The collection lets' : 'AWS at first lets'} {grouped(aSecond)} a second start,{' '}
                  {grouped(aSecond * 60)} a minute
                  {most >= aSecond * 60 ? ' (the line): more than that start late' : ', which no minute reaches'}.
                </p>
              )}
            </div>
          )}
        </Panel>
      </section>
      <section class="sheet who" aria-labelledby="who">
        <header>
          <h2 id="who">What is due</h2>
          <span class="muted">in the fullest instants</span>
        </header>
        <Panel of={load} rows={3}>
          {(data) =>
            data.top.length === 0 ? (
              <p class="none">Nothing is due in this hour.</p>
            ) : (
              <>
                <table>
                  <thead class="vh">
                    <tr>
                      <th>When</th>
                      <th>How many</th>
                      <th>Which</th>
                      <th>Rule</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.top.flatMap((peak) =>
                      peak.groups.map((group, row) => (
                        <tr key={`${peak.at} ${row}`}>
                          <td class="nowrap">{row === 0 && civil(Date.parse(peak.at), zone).slice(-5)}</td>
                          <td class="num">
                            <b>{grouped(group.count)}</b>
                          </td>
                          <td>
                            <span class="names">
                              {group.names.join(', ')}
                              {group.count > group.names.length && ' …'}
                            </span>
                            <span class="voice muted line">{group.rule}</span>
                          </td>
                        </tr>
                      )),
                    )}
                  </tbody>
                </table>
                {may('write') && herd(data.counts) && (
                  <p class="fix">
                    <b>Spread the fullest minute</b> over the hour, each job to a minute that its name gives.{' '}
                    <button
                      type="button"
                      class="btn sm"
                      onClick={() => setSpreading(Date.parse(data.top[0]?.at ?? ''))}
                    >
                      See what would change…
                    </button>
                  </p>
                )}
              </>
            )
          }
        </Panel>
      </section>
      {spreading !== null && load.data && (
        <Spread
          at={spreading}
          load={load.data}
          zone={zone}
          only={only}
          onClose={() => {
            setSpreading(null);
            load.reload();
          }}
        />
      )}
    </div>
  );
}
