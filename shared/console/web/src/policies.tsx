// The policies of a job: what is expected when the world is not perfect.
import { at, put, text } from './document';
import type { JobProperties } from './api';
import { number } from './editor';
import { Choice, Field } from './ui';

interface PoliciesProps {
  properties: JobProperties;
  change: (next: JobProperties) => void;
  of: (path: string) => string | undefined;
}

const AFTER = 'minutehand.pauseOnFailure.after';
const SECRETS = 'minutehand.sign.secrets';

export function Policies({ properties, change, of }: PoliciesProps) {
  const secrets = at(properties, SECRETS);
  const signs = Array.isArray(secrets) ? secrets.map(String) : [];
  const isHttp = /"type":"https?"/i.test(JSON.stringify(properties.action ?? {}));
  const isRepeated = properties.recurrence !== undefined && properties.recurrence !== null;
  const after = text(properties, AFTER);
  return (
    <fieldset class="step"><legend class="hd"><i>4</i> Policies</legend>
      <Late properties={properties} change={change} of={of} />
      {(isRepeated || after !== '') && (
        <Field label="Pause after so many failures in a row" problem={of('minutehand.pauseOnFailure')}>
          {(field) => <input {...field} class="i short" inputMode="numeric" placeholder="never" value={after} onInput={(event) => change(put(properties, AFTER, number(event.currentTarget.value)))} />}
        </Field>
      )}
      {(isHttp || signs.length > 0) && (
        <Field label="Secrets that sign its requests, one a line, the newest first" problem={of('minutehand.sign')}>
          {(field) => <textarea {...field} class="i" rows={2} spellcheck={false} autocomplete="off" placeholder="whsec_…; (withheld) keeps the stored one" onChange={(event) => change(put(properties, SECRETS, lines(event.currentTarget.value)))}>{signs.join('\n')}</textarea>}
        </Field>
      )}
    </fieldset>
  );
}

const lines = (written: string): string[] | undefined => {
  const all = written.split('\n').map((line) => line.trim()).filter(Boolean);
  return all.length === 0 ? undefined : all;
};

const CATCH_UPS: readonly (readonly [string, string])[] = [['last', 'run the last one'], ['none', 'run none'], ['all', 'run all']];

/** What happens when something was down or late, and when many jobs fire at once. */
function Late({ properties, change, of }: PoliciesProps) {
  const base = 'minutehand';
  const set = (path: string, value: unknown) => change(put(properties, `${base}.${path}`, value));
  const read = (path: string) => text(properties, `${base}.${path}`);
  const catchUp = read('catchUp.policy').toLowerCase() || 'last';
  const line = (label: string, path: string, placeholder: string) => (
    <Field label={label} problem={of(`${base}.${path}`)}>
      {(field) => <input {...field} class="i short" placeholder={placeholder} value={read(path)} onInput={(event) => set(path, event.currentTarget.value || undefined)} />}
    </Field>
  );
  return (
    <>
      <p class="then">Of what fell into an outage</p>
      <Choice label="Of what fell into an outage" value={catchUp} options={CATCH_UPS}
        onChange={(to) => set('catchUp', to === 'last' ? undefined : { policy: to })} />
      {catchUp === 'all' && (
        <div class="row2">
          <Field label="At most" problem={of(`${base}.catchUp.max`)}>
            {(field) => <input {...field} class="i short" inputMode="numeric" placeholder="100" value={read('catchUp.max')} onInput={(event) => set('catchUp.max', number(event.currentTarget.value))} />}
          </Field>
          {line('Not older than', 'catchUp.window', 'P1D')}
        </div>
      )}
      <div class="row2">
        {line('Leave out what is later than', 'maxLateness', 'any time')}
        {line('Spread the starts over', 'jitter.window', 'no time')}
      </div>
    </>
  );
}
