// Jobs of other schedulers. The server reads the file; nothing is written before it is asked for.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Converted, ConvertedJob, JobProperties } from './answers';
import { api, type ApiError, FIRST_COLLECTION } from './api';
import { withSecrets } from './document';
import { isTyping } from './keys';
import { asError, useLoad } from './load';
import { each } from './many';
import { inPlace, may, place, say } from './state';
import { grouped, until } from './time';
import { Copy, ErrorPanel, Field, Title } from './ui';

const FORMATS = [
  ['crontab', 'crontab'],
  ['eventbridge', 'EventBridge Scheduler'],
  ['azure', 'Azure Scheduler'],
] as const;

const EXAMPLES: Record<string, string> = {
  crontab: 'CRON_TZ=Europe/Berlin\n*/15 8-17 * * 1-5 /usr/bin/sync\n@daily /usr/bin/backup',
  eventbridge: '[{"Name":"nightly","ScheduleExpression":"cron(30 2 * * ? *)","Target":{"Arn":"arn:aws:sqs:…"}}]',
  azure: '{"value":[{"name":"collection/job","properties":{"action":{…}}}]}',
};

/** What to do where a name is taken. */
const TAKEN = [
  ['skip', 'is left out'],
  ['replace', 'replaces the job that is there'],
  ['rename', 'gets a number after its name'],
] as const;

type Taken = (typeof TAKEN)[number][0];
/** Whether the jobs fire once they are there. */
const BEGIN = [
  ['as', 'as they are there'],
  ['off', 'switched off'],
] as const;

type Begin = (typeof BEGIN)[number][0];
/** How many numbers are tried. */
const NUMBERS_MAX = 20;

interface Outcome {
  isDone: boolean;
  message: string;
}

export function Import() {
  const [format, setFormat] = useState<string>('crontab');
  const [text, setText] = useState('');
  const [template, setTemplate] = useState('');
  const [zone, setZone] = useState('');
  const [into, setInto] = useState('');
  const [found, setFound] = useState<Converted | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const collections = useLoad('collections for import', () => api.collections(place.value, null), null);
  const isFirst = collections.data?.items.length === 0;
  const names = isFirst ? [FIRST_COLLECTION] : (collections.data?.items ?? []).map((one) => one.name);
  // Which of several is meant is for the user to say.
  const target = into || (names.length === 1 ? (names[0] ?? '') : '');
  const read = async (event: Event) => {
    event.preventDefault();
    setError(null);
    setFound(null);
    const options = { ...(template && { template }), ...(zone && { timeZone: zone }) };
    try {
      const converted = await api.convert({ format, text, ...options });
      setFound(converted);
      say(`${converted.jobs.length} jobs, ${converted.problems.length} problems.`);
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  useEffect(() => {
    // Into a field the browser pastes by itself.
    const pasted = (event: ClipboardEvent) => {
      if (!isTyping(event.target)) setText(event.clipboardData?.getData('text') ?? '');
    };
    addEventListener('paste', pasted);
    return () => removeEventListener('paste', pasted);
  }, []);
  const drop = async (files: FileList | null | undefined) => {
    const file = files?.[0];
    if (file) setText(await file.text());
  };
  return (
    <>
      <div class="head">
        <div>
          <p class="eyebrow">{place.value.group}</p>
          <Title>Import</Title>
        </div>
      </div>
      <form
        class="sheet form"
        onSubmit={read}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          void drop(event.dataTransfer?.files);
        }}
      >
        <div class="row2">
          <Field label="Format">
            {(given) => (
              <select {...given} class="i" value={format} onChange={(event) => setFormat(event.currentTarget.value)}>
                {FORMATS.map(([value, label]) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="File">
            {(given) => (
              <input {...given} class="i" type="file" onChange={(event) => void drop(event.currentTarget.files)} />
            )}
          </Field>
          {format === 'crontab' && (
            <>
              <Field label="A command becomes">
                {(given) => (
                  <input
                    {...given}
                    class="i"
                    placeholder="https://runner.example.com/run?cmd={command}"
                    value={template}
                    onInput={(event) => setTemplate(event.currentTarget.value)}
                  />
                )}
              </Field>
              <Field label="Time zone, if the file names none">
                {(given) => (
                  <input
                    {...given}
                    class="i"
                    placeholder="UTC"
                    value={zone}
                    onInput={(event) => setZone(event.currentTarget.value)}
                  />
                )}
              </Field>
            </>
          )}
        </div>
        <Field label="Text: paste it, or drop a file">
          {(given) => (
            <textarea
              {...given}
              rows={10}
              required
              spellcheck={false}
              placeholder={EXAMPLES[format] ?? ''}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
        <p class="acts">
          <button type="submit" class="btn go">
            Read it
          </button>
          <span class="muted">Nothing is written yet.</span>
        </p>
      </form>
      {error && <ErrorPanel error={error} />}
      {found && (
        <>
          {found.problems.length > 0 && (
            <section class="sheet" aria-labelledby="problems">
              <header>
                <h2 id="problems">To look at</h2>
                <span class="muted">{grouped(found.problems.length)}</span>
              </header>
              <div class="scrolls" tabIndex={0} role="group" aria-labelledby="problems">
                <table>
                  <tbody>
                    {found.problems.map((one, row) => (
                      <tr key={row}>
                        <td class="nowrap">{where(one)}</td>
                        <td>{one.job ?? ''}</td>
                        <td>
                          <span class="late" aria-hidden="true">
                            ▲
                          </span>{' '}
                          {one.why} <span class="muted">{one.remedy}</span>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </section>
          )}
          <Write
            key={JSON.stringify(found)}
            found={found}
            names={names}
            isFirst={isFirst}
            into={target}
            setInto={setInto}
          />
        </>
      )}
    </>
  );
}

const where = ({ line, path }: { line?: number; path?: string }) => (line ? `line ${line}` : (path ?? ''));

function Write({
  found,
  names,
  isFirst,
  into,
  setInto,
}: {
  /** Whether the collection has to be made first. */
  isFirst: boolean;
  found: Converted;
  names: string[];
  into: string;
  setInto: (name: string) => void;
}) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [isBusy, setBusy] = useState(false);
  const [taken, setTaken] = useState<Taken>('skip');
  const isStopped = useRef(false);
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  const [without, setWithout] = useState<ReadonlySet<string>>(new Set());
  const [begin, setBegin] = useState<Begin>('as');
  const ready = found.jobs.filter(
    (job) => !without.has(job.name) && job.secrets.every(({ variable }) => secrets[variable]),
  );
  const choose = (names: string[], isIn: boolean) => {
    const next = new Set(without);
    for (const name of names) {
      if (isIn) next.delete(name);
      else next.add(name);
    }
    setWithout(next);
  };
  const left = ready.filter((job) => !outcomes.get(job.name)?.isDone);
  const done = ready.length - left.length;
  const note = (name: string, outcome: Outcome) => setOutcomes((old) => new Map(old).set(name, outcome));
  const others = new Set(found.jobs.map((job) => job.name.toLowerCase()));
  /** The name that a job gets; `null` if it is left out. */
  const nameFor = async (name: string): Promise<string | null> => {
    const isFree = async (one: string) => !(await api.hasJob(place.value, into, one));
    if (taken === 'replace' || (await isFree(name))) return name;
    for (let n = 2; taken === 'rename' && n <= NUMBERS_MAX; n += 1) {
      const other = `${name}-${n}`;
      // Another job of the file may have this name.
      if (!others.has(other.toLowerCase()) && (await isFree(other))) return other;
    }
    return null;
  };
  const write = async (job: ConvertedJob) => {
    try {
      const name = await nameFor(job.name);
      if (name === null) return note(job.name, { isDone: false, message: 'left out: the name is taken' });
      const properties = withSecrets(job.document.properties, secrets) as JobProperties;
      await api.putJob(place.value, into, name, begin === 'off' ? { ...properties, state: 'Disabled' } : properties);
      note(job.name, { isDone: true, message: name === job.name ? 'imported' : `imported as ${name}` });
    } catch (thrown) {
      note(job.name, { isDone: false, message: asError(thrown).message });
    }
  };
  const report = () =>
    found.jobs
      .map((job) => [where(job), `${into}/${job.name}`, outcomes.get(job.name)?.message ?? 'not imported'].join('\t'))
      .join('\n');
  const [error, setError] = useState<ApiError | null>(null);
  const run = async () => {
    setBusy(true);
    setError(null);
    isStopped.current = false;
    try {
      if (isFirst) await api.makeFirstCollection(place.value);
    } catch (thrown) {
      setError(asError(thrown));
      setBusy(false);
      return;
    }
    await each(left, () => isStopped.current, write);
    setBusy(false);
    say('The import has ended.');
  };
  return (
    <section class="sheet" aria-labelledby="jobs">
      <header>
        <h2 id="jobs">
          {grouped(found.jobs.length)} jobs of {grouped(found.found)} schedules
        </h2>
        <span class="muted" role="status">
          {done > 0 && `${grouped(done)} imported`}
        </span>
      </header>
      <div class="row2 pad16">
        <Field label="Into">
          {(given) => (
            <select {...given} class="i" value={into} onChange={(event) => setInto(event.currentTarget.value)}>
              {!into && <option value="">choose a collection…</option>}
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="The jobs begin">
          {(given) => (
            <select
              {...given}
              class="i"
              value={begin}
              onChange={(event) => setBegin(event.currentTarget.value as Begin)}
            >
              {BEGIN.map(([one, words]) => (
                <option key={one} value={one}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="A job whose name is taken">
          {(given) => (
            <select
              {...given}
              class="i"
              value={taken}
              onChange={(event) => setTaken(event.currentTarget.value as Taken)}
            >
              {TAKEN.map(([one, words]) => (
                <option key={one} value={one}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        {isBusy ? (
          <button
            type="button"
            class="btn"
            onClick={() => {
              isStopped.current = true;
            }}
          >
            Stop
          </button>
        ) : (
          may('write') && (
            <button type="button" class="btn go" disabled={left.length === 0 || !into} onClick={() => void run()}>
              Import {grouped(left.length)} of {grouped(found.jobs.length)}
            </button>
          )
        )}
        {done > 0 && (
          <a class="btn" href={inPlace('jobs', into)}>
            Open {into}
          </a>
        )}
        {outcomes.size > 0 && <Copy text={report}>Copy the report</Copy>}
      </div>
      {error && <ErrorPanel error={error} />}
      <div class="scrolls" tabIndex={0} role="group" aria-labelledby="jobs">
        <table>
          <thead>
            <tr>
              <th>
                <span class="vh">Import</span>
                <input
                  type="checkbox"
                  checked={without.size === 0}
                  indeterminate={without.size > 0 && without.size < found.jobs.length}
                  onChange={() =>
                    choose(
                      found.jobs.map((job) => job.name),
                      without.size > 0,
                    )
                  }
                  aria-label={`Import all ${grouped(found.jobs.length)}`}
                />
              </th>
              <th>Where</th>
              <th>Job</th>
              <th>When</th>
              <th>Next</th>
              <th>State</th>
            </tr>
          </thead>
          <tbody>
            {found.jobs.map((job) => {
              const outcome = outcomes.get(job.name);
              return (
                <tr key={job.name}>
                  <td>
                    <input
                      type="checkbox"
                      checked={!without.has(job.name)}
                      disabled={outcome?.isDone}
                      onChange={() => choose([job.name], without.has(job.name))}
                      aria-label={`Import ${job.name}`}
                    />
                  </td>
                  <td class="nowrap faint">{where(job)}</td>
                  <td>
                    <b>{job.name}</b>
                  </td>
                  <td class="voice">{job.sentence}</td>
                  <td class="nowrap">{job.next ? until(Date.parse(job.next)) : '—'}</td>
                  <td class={outcome && !outcome.isDone ? 'bad' : ''}>
                    {outcome?.message ?? (without.has(job.name) ? 'left out' : begin === 'off' ? 'off' : job.state)}
                    {!outcome?.isDone &&
                      job.secrets.map(({ pointer, variable }) => (
                        <Field key={variable} label={`Secret of ${job.name}: ${pointer.split('/').pop()}`}>
                          {(given) => (
                            <input
                              {...given}
                              class="i"
                              type="password"
                              autocomplete="off"
                              value={secrets[variable] ?? ''}
                              onInput={(event) => setSecrets({ ...secrets, [variable]: event.currentTarget.value })}
                            />
                          )}
                        </Field>
                      ))}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
