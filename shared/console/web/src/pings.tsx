// The URL at which a job takes pings, and the last ones.
import { useState } from 'preact/hooks';
import type { Description } from './answers';
import { api, type ApiError } from './api';
import { Confirm } from './dialog';
import { expectsPings } from './document';
import { asError, useLoad } from './load';
import { may, place, say } from './state';
import { civil, zoneOf } from './time';
import { Copy, ErrorPanel, Panel } from './ui';

/** How often the pings are read, in seconds. */
const EVERY = 30;

const SAYS: Record<string, string> = { success: 'done', start: 'begun', fail: 'failed', log: 'log' };

/** The pings of a job, for users who may change it: a ping needs no token, only the URL. */
export function Pings({ job, collection, name }: { job: Description; collection: string; name: string }) {
  return expectsPings(job.properties) && may('write') ? <Sheet job={job} collection={collection} name={name} /> : null;
}

function Sheet({ job, collection, name }: { job: Description; collection: string; name: string }) {
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const key = `pings ${place.value.subscription}/${place.value.group}/${collection}/${name}`;
  const pings = useLoad(key, () => api.pingUrl(place.value, collection, name), EVERY);
  const zone = zoneOf(job);
  return (
    <section class="sheet" aria-labelledby="pings">
      <header>
        <h2 id="pings">Pings</h2>
        <span class="r">
          {pings.data && <Copy text={() => pings.data?.url ?? ''}>Copy the URL</Copy>}{' '}
          <button type="button" class="btn sm" onClick={() => setAsking(true)}>
            Replace it
          </button>
        </span>
      </header>
      {error && <ErrorPanel error={error} />}
      <Panel of={pings} rows={3}>
        {(data) => (
          <>
            <p class="mono">{data.url}</p>
            {data.pings.length === 0 ? (
              <p class="muted">No ping has come yet.</p>
            ) : (
              <ul>
                {data.pings.map((ping) => (
                  <li key={`${ping.at} ${ping.kind}`}>
                    {civil(Date.parse(ping.at), zone)} <b>{SAYS[ping.kind] ?? ping.kind}</b>{' '}
                    {ping.occurrence ? `of ${civil(Date.parse(ping.occurrence), zone)}` : 'not owed'} {ping.text}
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Panel>
      {isAsking && (
        <Confirm
          title={`Replace the URL of ${name}?`}
          verb="Replace it"
          text="The URL before takes no pings any more."
          onYes={async () => {
            try {
              await api.rotatePing(place.value, collection, name);
              say('The URL is another one.');
              pings.reload();
            } catch (thrown) {
              setError(asError(thrown));
            }
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  );
}
