// A job as JSON, from a cron line, and for other tools.
import { useState } from 'preact/hooks';
import type { Converted, Document, JobProperties } from './answers';
import { api, type ApiError } from './api';
import { asArm, asCommand, asCurl } from './elsewhere';
import { asError } from './load';
import { place } from './state';
import { capital, Copy, ErrorPanel, Field, Wrong } from './ui';

export function Json({
  json,
  onWrite,
  problem,
  line,
}: {
  json: string;
  onWrite: (text: string) => void;
  problem: string | null;
  line: number | null;
}) {
  const count = json.split('\n').length;
  return (
    <div class="step json">
      <pre class="gutter" aria-hidden="true">
        {Array.from({ length: count }, (_, row) => (
          <span key={row} class={row + 1 === line ? 'bad' : ''}>
            {row + 1}
            {'\n'}
          </span>
        ))}
      </pre>
      <textarea
        aria-label="The job as JSON"
        spellcheck={false}
        rows={Math.max(18, count)}
        value={json}
        aria-invalid={problem !== null}
        aria-describedby={problem ? 'json-problem' : undefined}
        onInput={(event) => onWrite(event.currentTarget.value)}
      />
      {problem && <Wrong id="json-problem">{`${line === null ? '' : `Line ${line}: `}${problem}`}</Wrong>}
    </div>
  );
}

/** Asks the server what a line of a crontab means, and takes its recurrence over. */
export function Cron({ zone, onTake }: { zone: string; onTake: (recurrence: Document) => void }) {
  const [line, setLine] = useState('');
  const [found, setFound] = useState<Converted | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const read = async (event: Event) => {
    event.preventDefault();
    setError(null);
    setFound(null);
    // A command has to stand there, and becomes an action that is not taken over.
    const text = `${line.trim()} command`;
    try {
      setFound(
        await api.convert({
          format: 'crontab',
          text,
          template: 'https://example.com/?{command}',
          ...(zone && { timeZone: zone }),
        }),
      );
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  return (
    <div class="step">
      <form class="row2" onSubmit={read}>
        <Field label="Minute, hour, day, month, day of the week">
          {(field) => (
            <input
              {...field}
              class="i mono"
              required
              placeholder="*/15 8-17 * * 1-5"
              spellcheck={false}
              value={line}
              onInput={(event) => setLine(event.currentTarget.value)}
            />
          )}
        </Field>
        <button type="submit" class="btn">
          Read it
        </button>
      </form>
      {error && <ErrorPanel error={error} />}
      {found?.problems.map((one, row) => (
        <Wrong key={row}>{`${one.why} ${one.remedy}`}</Wrong>
      ))}
      {found && found.jobs.length > 1 && (
        <p class="muted">Cron means either of two things here, so it takes a job for each.</p>
      )}
      {found?.jobs.map((job) => (
        <p key={job.name} class="row2">
          <span class="voice">{capital(job.sentence)}</span>
          <button type="button" class="btn sm" onClick={() => onTake(job.document.properties.recurrence ?? {})}>
            Take it
          </button>
        </p>
      ))}
    </div>
  );
}

/** The job for other tools. */
export function Elsewhere({
  collection,
  name,
  properties,
}: {
  collection: string;
  name: string;
  properties: JobProperties;
}) {
  const forms: [string, string][] = [
    ['curl', asCurl(place.value, collection, name, properties)],
    ['The command line', asCommand(place.value, collection, name, properties)],
    ['A resource of an ARM template', asArm(collection, name, properties)],
  ];
  return (
    <div class="step">
      {forms.map(([title, written]) => (
        <section key={title} aria-label={title}>
          <p class="acts">
            <b>{title}</b>
            <Copy text={() => written} />
          </p>
          <pre class="code" tabIndex={0} role="group" aria-label={title}>
            {written}
          </pre>
        </section>
      ))}
      <p class="faint">Secrets are left out. The token for curl comes from the shell's environment.</p>
    </div>
  );
}
