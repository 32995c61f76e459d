// What this browser remembers, and what the server says about itself.
import type { Signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { Process } from './answers';
import { api, isRefused, signOut, token } from './api';
import { Places } from './collections';
import { useLoad } from './load';
import { choose, density, hours, me, motion, place, say, singleKeys, theme, zoneChoice } from './state';
import { grouped, mine, wideZone, withOffset } from './time';
import { Copy, Field, Options, Panel, Title } from './ui';

/** What one may choose, and the words for it. */
const CHOICES = [
  [
    'Theme',
    theme,
    [
      ['system', 'as the system'],
      ['light', 'light'],
      ['dark', 'dark'],
    ],
  ],
  [
    'Times are in',
    zoneChoice,
    [
      ['job', "the job's zone"],
      ['mine', mine],
      ['UTC', 'UTC'],
    ],
  ],
  [
    'The clock has',
    hours,
    [
      ['24', '24 hours'],
      ['12', '12 hours'],
    ],
  ],
  [
    'Lists are',
    density,
    [
      ['roomy', 'roomy'],
      ['dense', 'dense'],
    ],
  ],
  [
    'Motion',
    motion,
    [
      ['system', 'as the system'],
      ['none', 'none'],
    ],
  ],
  [
    'Keys of one letter',
    singleKeys,
    [
      ['on', 'on'],
      ['off', 'off'],
    ],
  ],
] as unknown as readonly (readonly [string, Signal<string>, readonly (readonly [string, string])[]])[];

/** A process in a line. */
function line({ name, version, since, seenAt, attempts, answers }: Process): string {
  const at = (instant: string) => withOffset(Date.parse(instant), wideZone());
  return `${name}${answers ? ' (answers)' : ''}: version ${version}, since ${at(since)}, last seen ${at(seenAt)}, attempts under way: ${grouped(attempts)}`;
}

export function Settings() {
  const loaded = useLoad('me', api.me, 30);
  const processes = useLoad('processes', api.processes, 10).data?.items ?? [];
  const places = useLoad('places', api.places, null).data ?? [];
  const [subscription, setSubscription] = useState(place.value.subscription);
  const [group, setGroup] = useState(place.value.group);
  const report = () =>
    JSON.stringify(
      {
        version: loaded.data?.version,
        home: loaded.data?.home,
        timeZones: loaded.data?.timeZones,
        browser: navigator.userAgent,
        screen: `${innerWidth}×${innerHeight}`,
      },
      null,
      2,
    );
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">This browser</p>
          <Title>Settings</Title>
        </div>
      </div>
      <div class="grid two">
        <section class="sheet form" aria-labelledby="looks">
          <h2 id="looks">Looks and keys</h2>
          {CHOICES.map(([label, choice, options]) => (
            <Options
              key={label}
              label={label}
              value={choice.value}
              options={options}
              onChange={(to) => (choice.value = to)}
            />
          ))}
        </section>
        <div class="grid">
          <section class="sheet form" aria-labelledby="server">
            <h2 id="server">Server</h2>
            <Panel of={loaded} rows={4}>
              {(data) => (
                <dl class="kv flat">
                  <dt>Address</dt>
                  <dd>{location.origin}</dd>
                  <dt>Signed in</dt>
                  <dd>
                    {data.principal.kind === 'nobody'
                      ? 'nobody: this server asks for no token'
                      : (data.principal.label ?? data.principal.kind)}
                  </dd>
                  <dt>May</dt>
                  <dd>{data.may.join(', ')}</dd>
                  <dt>Version</dt>
                  <dd>{data.version}</dd>
                  <dt>Time zones</dt>
                  <dd>{data.timeZones}</dd>
                  <dt>Region</dt>
                  <dd>{data.region}</dd>
                  {processes.length > 0 && (
                    <>
                      <dt>Processes</dt>
                      <dd>
                        {processes.map((process) => (
                          <div key={process.name}>{line(process)}</div>
                        ))}
                      </dd>
                    </>
                  )}
                </dl>
              )}
            </Panel>
            <p class="acts">
              {token.value && (
                <button
                  type="button"
                  class="btn"
                  onClick={() => {
                    signOut();
                    me.value = null;
                    isRefused.value = true;
                    say('Signed out.');
                  }}
                >
                  Sign out
                </button>
              )}
              <Copy text={report}>Copy a report</Copy>
            </p>
          </section>
          <form
            class="sheet form"
            aria-labelledby="place"
            onSubmit={(event) => {
              event.preventDefault();
              choose({ subscription, group });
            }}
          >
            <h2 id="place">Subscription and group</h2>
            <Field label="Subscription">
              {(given) => (
                <input
                  {...given}
                  class="i"
                  required
                  value={subscription}
                  onInput={(event) => setSubscription(event.currentTarget.value)}
                />
              )}
            </Field>
            <Field label="Resource group">
              {(given) => (
                <input
                  {...given}
                  class="i"
                  required
                  value={group}
                  onInput={(event) => setGroup(event.currentTarget.value)}
                />
              )}
            </Field>
            <p class="acts">
              <button type="submit" class="btn">
                Open
              </button>
            </p>
            {places.length > 0 && (
              <>
                <p class="muted">With collections:</p>
                <Places all={places} />
              </>
            )}
          </form>
        </div>
      </div>
    </>
  );
}
