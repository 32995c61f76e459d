// The policies of a job: what is expected when the world is not perfect.
import { at, put, text } from './document';
import type { JobProperties } from './api';
import { number } from './editor';
import { Field } from './ui';

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
