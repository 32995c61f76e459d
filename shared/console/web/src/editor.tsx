// A new job, or a change of one: what is said on the left, what it means on the right.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, api, FIRST_COLLECTION, asArm, asCommand, asCurl, type Check, type Converted, type Document, type JobProperties, type Preview } from './api';
import { at, changes, days, type Often, OFTEN, lineOf, number, often, put, text, times, toggleDay, WEEK_DAYS, withOften, withoutSecrets, withTimes } from './document';
import { Action, target } from './actions';
import { SpanField } from './fields';
import { forgetDraft, keepDraft, keptDraft } from './draft';
import { asError, type Loaded, useLoad } from './load';
import { useKeys } from './keys';
import { mendings } from './mend';
import { go, guard, inPlace, place, route, say, tick } from './state';
import { isoSpan } from './spans';
import { civil, grouped, mine, oclock, parts, until } from './time';
import { capital } from './job';
import { Bars } from './overview';
import { Policies, RetryPolicies, saidRetries } from './policies';
import { Choice, Copy, Crumbs, ErrorPanel, Field, Key, Mendings, Panel, Step, Title, Wrong } from './ui';

/** How long the last key rests before the server is asked. */
const REST_MS = 150;
/** How long before a screen reader hears the new sentence. */
const SPEAK_MS = 500;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const EXAMPLE: JobProperties = {
  action: { type: 'Https', request: { method: 'POST', uri: 'https://example.com/' } },
  recurrence: { frequency: 'day', interval: 1, schedule: { hours: [2], minutes: [30] }, timeZone: mine },
};

export function NewJob({ collection }: { collection: string }) {
  const from = route.value.query.get('from');
  if (from) return <Duplicate key={from} collection={collection} from={from} />;
  const { name, properties } = keptDraft(collection) ?? { name: '', properties: EXAMPLE };
  return <Editor key={collection} collection={collection} first={properties} startName={name} old={null} />;
}

/** A new job that begins as another one. No answer of the server holds a secret, so none is copied. */
function Duplicate({ collection, from }: { collection: string; from: string }) {
  const loaded = useLoad(
    `duplicate ${place.value.subscription}/${place.value.group}/${collection}/${from}`,
    () => api.describe(place.value, collection, from),
    null,
  );
  return (
    <Before of={loaded} title={`A job like ${from}`}>
      {(job) => {
        const { status: _, state: __, ...copied } = job.properties;
        const secrets = /"(authentication|queueMessage|sign)"/.test(JSON.stringify(copied));
        const properties = put(put(copied, 'minutehand.sign', undefined), 'minutehand.paused', undefined) as JobProperties;
        return <Editor collection={collection} first={properties} startName="" old={null} note={secrets ? `Passwords and tokens of ${from} are not copied: enter them again.` : null} />;
      }}
    </Before>
  );
}

/** The page has its heading while its job is read. */
function Before<T>({ of, title, children }: { of: Loaded<T>; title: string; children: (data: T) => ComponentChildren }) {
  return (
    <>
      {of.data === null && <div class="head"><Title>{title}</Title></div>}
      <Panel of={of} rows={8}>{children}</Panel>
    </>
  );
}

export function EditJob({ collection, name }: { collection: string; name: string }) {
  const loaded = useLoad(
    `edit ${place.value.subscription}/${place.value.group}/${collection}/${name}`,
    () => api.job(place.value, collection, name),
    null,
  );
  return (
    <Before of={loaded} title={name}>
      {({ properties: { status: _, ...properties }, etag }) => (
        <Editor key={etag} collection={collection} first={properties} startName={name} old={properties} etag={etag} onReload={loaded.reload} />
      )}
    </Before>
  );
}

type Tab = 'form' | 'json' | 'cron' | 'as';
const TABS: readonly (readonly [Tab, string])[] = [['form', 'Form'], ['json', 'JSON'], ['cron', 'From a cron line'], ['as', 'As curl, CLI, ARM']];

interface Asked {
  preview: Preview | null;
  error: ApiError | null;
  check: Check | null;
  took: number | null;
}

/** Asks the server what a document means, a moment after the last change of it. */
function useMeaning(collection: string, name: string, properties: JobProperties, old: JobProperties | null): Asked {
  const [asked, set] = useState<Asked>({ preview: null, error: null, check: null, took: null });
  const json = JSON.stringify(properties);
  useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => {
      const begun = performance.now();
      const now = JSON.parse(json) as JobProperties;
      api.preview({ properties: now, count: 5 }).then(
        (preview) => isOver || set((old) => ({ ...old, preview, error: null, took: performance.now() - begun })),
        (thrown: unknown) => isOver || set((old) => ({ ...old, error: asError(thrown) })),
      );
      // A name is needed to ask for the rest: any will do while there is none. Of a job that is there only
      // the change is asked about, as it will be sent: no answer has its secrets.
      const checked = old
        ? api.check(place.value, collection, name, changes(old, now), 'patch')
        : api.check(place.value, collection, name || 'new-job', now);
      checked.then(
        (check) => isOver || set((old) => ({ ...old, check })),
        () => isOver || set((old) => ({ ...old, check: null })),
      );
    }, REST_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [json, collection, old ? '' : name]);
  return asked;
}

function Editor({ collection, first, startName, old, etag = null, onReload, note = null }: {
  /** The version of what is changed, and how to read it again. */
  etag?: string | null;
  onReload?: () => void;
  /** What has to be said first. */
  note?: string | null;
  collection: string;
  first: JobProperties;
  startName: string;
  old: JobProperties | null;
}) {
  const [properties, setProperties] = useState(first);
  const [name, setName] = useState(startName);
  const [tab, setTab] = useState<Tab>('form');
  const [json, setJson] = useState('');
  const [jsonProblem, setJsonProblem] = useState<string | null>(null);
  const [refused, setRefused] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);
  const asked = useMeaning(collection, name, properties, old);
  const isChanged = name !== startName || JSON.stringify(properties) !== JSON.stringify(first);

  useEffect(() => {
    if (old === null && isChanged) {
      keepDraft(collection, { name, properties });
    }
  }, [properties, name]);
  useEffect(() => {
    guard.value = isChanged && !isSaving ? () => 'Leave? What you changed is not saved.' : null;
    return () => { guard.value = null; };
  }, [isChanged, isSaving]);

  const change = (next: JobProperties) => {
    setRefused(null);
    setProperties(next);
  };
  const mended = (next: Document) => {
    change(next);
    setJson(JSON.stringify(next, null, 2));
  };
  const show = (to: Tab) => {
    if (to === 'json') {
      setJson(JSON.stringify(properties, null, 2));
      setJsonProblem(null);
    }
    setTab(to);
  };
  const writeJson = (written: string) => {
    setJson(written);
    try {
      const read: unknown = JSON.parse(written);
      if (read === null || typeof read !== 'object' || Array.isArray(read)) throw new Error('Write an object: {…}.');
      setJsonProblem(null);
      change(read as JobProperties);
    } catch (thrown) {
      setJsonProblem((thrown as Error).message);
    }
  };
  const leave = () => {
    guard.value = null;
    if (old === null) forgetDraft(collection);
  };
  const save = async (isTrial: boolean, isForced = false) => {
    if (isSaving || jsonProblem !== null) return;
    if (!name) {
      setTab('form');
      say('Give the job a name first.');
      // Once the form is there.
      setTimeout(() => {
        const field = document.querySelector<HTMLElement>('[data-name]');
        field?.closest('details')?.setAttribute('open', '');
        field?.focus();
      });
      return;
    }
    setSaving(true);
    setRefused(null);
    try {
      if (old) await api.patchJob(place.value, collection, startName, changes(old, properties), isForced ? null : etag);
      else await putNew(collection, name, isTrial ? { ...properties, state: 'Disabled' } : properties);
      if (isTrial) await api.run(place.value, collection, name);
      leave();
      say(isTrial ? `${name} is saved switched off, and runs once.` : `${name} is saved.`);
      go(inPlace('job', collection, name));
    } catch (thrown) {
      setSaving(false);
      setRefused(asError(thrown));
    }
  };
  const home = old ? inPlace('job', collection, startName) : inPlace('jobs', collection);
  const discard = () => {
    leave();
    go(home);
  };
  useKeys({
    'Ctrl+Enter': () => void save(false),
    'Ctrl+/': () => show(tab === 'json' ? 'form' : 'json'),
    // The page asks before what was changed is lost.
    Escape: () => go(home),
  });

  const problem = refused && refused.target !== null
    ? { message: refused.message, target: refused.target }
    : asked.check?.problems[0] ?? (asked.error ? { message: asked.error.message, target: asked.error.target } : null);
  const of = (path: string) => {
    const about = (problem?.target ?? '').replace(/^properties\./, '');
    return about === path || about.startsWith(`${path}.`) ? problem?.message : undefined;
  };
  return (
    <Mendings.Provider value={(said) => mendings(properties, said, mended)}>
      <div class="head">
        <div><Crumbs collection={collection} here={old ? 'edit' : 'new job'} /><Title>{old ? startName : 'New job'}</Title></div>
        <div class="acts">
          <button type="button" class="btn bare" onClick={discard}>Discard</button>
          {!old && <button type="button" class="btn" disabled={isSaving} onClick={() => void save(true)}>Save switched off, and try it once</button>}
          <button type="button" class="btn go" disabled={isSaving || (old !== null && !isChanged)} onClick={() => void save(false)}>Save <Key>Ctrl Enter</Key></button>
        </div>
      </div>
      {note && <p class="notice" role="status">{note}</p>}
      {refused && refused.status !== 412 && <ErrorPanel error={refused} />}
      {refused?.status === 412 && old && <Meanwhile collection={collection} name={startName} old={old} mine={properties} onMine={() => void save(false, true)} onTheirs={() => { leave(); onReload?.(); }} />}
      <div class="grid wiz">
        <div class="sheet">
          <Tabs tab={tab} onShow={show} />
          <div role="tabpanel" id="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === 'form' && <Form properties={properties} change={change} of={of} name={name} setName={old ? null : setName} collection={collection} sentence={asked.preview?.sentence ?? ''} />}
            {tab === 'json' && <Json json={json} onWrite={writeJson} problem={jsonProblem ?? problem?.message ?? null} line={problem?.target && jsonProblem === null ? lineOf(json, problem.target) : null} />}
            {tab === 'cron' && <Cron zone={text(properties, 'recurrence.timeZone')} onTake={(recurrence) => { change({ ...properties, recurrence }); show('form'); }} />}
            {tab === 'as' && <Elsewhere collection={collection} name={name || 'NAME'} properties={withoutSecrets(properties) as JobProperties} />}
          </div>
        </div>
        <Meaning asked={asked} problem={problem?.message ?? null} isExample={!isChanged && first === EXAMPLE} zone={text(properties, 'recurrence.timeZone')} isEdit={old !== null}
          collection={collection} onStart={(instant) => change(put(properties, 'startTime', instant))}
          onTime={times(properties).includes(',') ? null : (time) => change(withTimes(properties, time).document)} />
      </div>
    </Mendings.Provider>
  );
}

/** Makes a job, and before it the first collection, if that is where it belongs. */
async function putNew(collection: string, name: string, properties: JobProperties) {
  try {
    await api.putJob(place.value, collection, name, properties);
  } catch (thrown) {
    if (collection !== FIRST_COLLECTION || asError(thrown).status !== 404) throw thrown;
    await api.makeFirstCollection(place.value);
    await api.putJob(place.value, collection, name, properties);
  }
}

/** The job was changed since it was read: what the other change and this one say, and which of them to take. */
function Meanwhile({ collection, name, old, mine: own, onMine, onTheirs }: {
  collection: string;
  name: string;
  old: JobProperties;
  mine: JobProperties;
  onMine: () => void;
  onTheirs: () => void;
}) {
  const loaded = useLoad(`meanwhile ${collection}/${name}`, () => api.job(place.value, collection, name), null);
  return (
    <section class="notice late" role="alert" aria-label="Changed meanwhile">
      <p><b>{name} was changed meanwhile.</b> Nothing is saved yet.</p>
      <Panel of={loaded} rows={2}>
        {({ properties: { status: _, ...theirs } }) => (
          <dl class="kv flat both">
            <dt>The other change</dt><dd><pre>{JSON.stringify(changes(old, theirs), null, 2)}</pre></dd>
            <dt>Yours</dt><dd><pre>{JSON.stringify(changes(old, own), null, 2)}</pre></dd>
          </dl>
        )}
      </Panel>
      <p class="acts">
        <button type="button" class="btn" onClick={onTheirs}>Drop mine, and begin with theirs</button>
        <button type="button" class="btn go" onClick={onMine}>Save mine over it</button>
      </p>
    </section>
  );
}

function Tabs({ tab, onShow }: { tab: Tab; onShow: (tab: Tab) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? TABS.length - 1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = (TABS.findIndex(([one]) => one === tab) + step) % TABS.length;
    const to = TABS[next]?.[0];
    if (!to) return;
    onShow(to);
    list.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Ways to write it" ref={list} onKeyDown={pressed}>
      {TABS.map(([one, label]) => (
        <button key={one} type="button" role="tab" id={`tab-${one}`} aria-selected={one === tab} aria-controls="tabpanel"
          tabIndex={one === tab ? 0 : -1} onClick={() => onShow(one)}>{label}</button>
      ))}
    </div>
  );
}

interface FormProps {
  properties: JobProperties;
  change: (next: JobProperties) => void;
  of: (path: string) => string | undefined;
  name: string;
  setName: ((name: string) => void) | null;
  collection: string;
  /** What the server says the document means. */
  sentence: string;
}

/** Which properties the step about failures has. */
const FAILS = ['action.retryPolicy', 'action.errorAction', 'minutehand.retry'];

function Form(given: FormProps) {
  const { action } = given.properties;
  const has = (...paths: string[]) => paths.some((path) => given.of(path) !== undefined);
  return (
    <>
      <Step n={1} title="When" said={given.sentence && capital(given.sentence)} hasProblem={has('recurrence', 'startTime')}><When {...given} /></Step>
      <Step n={2} title="What" said={target(given.properties.action)} hasProblem={has('action') && !has(...FAILS)}><Act {...given} /></Step>
      <Step n={3} title="If it fails" said={saidRetries(given.properties) + (action?.errorAction ? `; then ${target(action.errorAction as Document)}` : '')} isFolded hasProblem={has(...FAILS)}><Fails {...given} /></Step>
      <Policies properties={given.properties} change={given.change} of={given.of} />
      <Step n={5} title="Name" said={given.name} hasProblem={has('name')}>
        <Field label={`Name in ${given.collection}`} problem={given.of('name')}>
          {(field) => <input {...field} data-name class="i" value={given.name} readOnly={given.setName === null} autocomplete="off" spellcheck={false} onInput={(event) => given.setName?.(event.currentTarget.value)} />}
        </Field>
      </Step>
    </>
  );
}

function When({ properties, change, of }: FormProps) {
  const kind = often(properties);
  const [written, setWritten] = useState(times(properties));
  const [problem, setProblem] = useState<string | null>(null);
  // What was typed stays as it was typed, unless the document has other times by now.
  const isOwn = problem !== null || times(withTimes(properties, written).document) === times(properties);
  const set = (path: string, value: unknown) => change(put(properties, path, value));
  const write = (value: string) => {
    setWritten(value);
    const read = withTimes(properties, value);
    setProblem(read.problem);
    if (read.problem === null) change(read.document);
  };
  const turn = (to: Often) => {
    change(withOften(properties, to));
    if (to === 'once' || to === 'minute' || to === 'hour') setWritten('');
  };
  const zones = useLoad('zones', api.zones, null);
  const isLong = kind === 'month' || kind === 'year';
  const hasDays = kind === 'week' || isLong;
  return (
    <>
      <Choice label="How often" value={kind} options={OFTEN} onChange={turn} />
      {kind !== 'once' && (
        <div class="row2">
          <Field label="Every" problem={of('recurrence.interval')}>
            {(field) => <span class="beside"><input {...field} class="i short" inputMode="numeric" value={text(properties, 'recurrence.interval')} onInput={(event) => set('recurrence.interval', number(event.currentTarget.value))} /> {kind}{/^1?$/.test(text(properties, 'recurrence.interval')) ? '' : 's'}</span>}
          </Field>
          {kind === 'hour' && (
            <Field label="At minutes" problem={of('recurrence.schedule.minutes')}>
              {(field) => <input {...field} class="i" placeholder="as it started" value={list(at(properties, 'recurrence.schedule.minutes'))} onChange={(event) => set('recurrence.schedule.minutes', listed(event.currentTarget.value))} />}
            </Field>
          )}
          {(kind === 'day' || hasDays) && (
            <Field label="At" problem={problem ?? of('recurrence.schedule.hours') ?? of('recurrence.schedule.minutes')}>
              {(field) => <input {...field} class="i" placeholder="02:30, 14:30" value={isOwn ? written : times(properties)} onInput={(event) => write(event.currentTarget.value)} />}
            </Field>
          )}
        </div>
      )}
      {kind === 'week' && (
        <Days label="Days of the week" problem={of('recurrence.schedule.weekDays')} all={WEEK_DAYS.map((day) => [day, day.slice(0, 3)])}
          chosen={days(properties, 'weekDays')} onToggle={(day) => change(toggleDay(properties, 'weekDays', day))} />
      )}
      {kind === 'year' && (
        <Days label="Months" problem={of('recurrence.schedule.months')} all={MONTHS.map((month, place) => [place + 1, month])}
          chosen={days(properties, 'months')} onToggle={(month) => change(toggleDay(properties, 'months', month))} />
      )}
      {isLong && (
        <Days label="Days of the month" problem={of('recurrence.schedule.monthDays')}
          all={[...Array.from({ length: 31 }, (_, day) => [day + 1, String(day + 1)] as [number, string]), [-1, 'last']]}
          chosen={days(properties, 'monthDays')} onToggle={(day) => change(toggleDay(properties, 'monthDays', day))} />
      )}
      <div class="row2">
        {kind !== 'once' && (
          <Field label="Time zone" problem={of('recurrence.timeZone')}>
            {(field) => (
              <>
                <input {...field} class="i" list="zones" placeholder="UTC" spellcheck={false} value={text(properties, 'recurrence.timeZone')} onInput={(event) => set('recurrence.timeZone', event.currentTarget.value || undefined)} />
                <datalist id="zones">{(zones.data?.names ?? []).map((zone) => <option key={zone} value={zone} />)}</datalist>
              </>
            )}
          </Field>
        )}
        <Field label={kind === 'once' ? 'At' : 'Starts'} problem={of('startTime')}>
          {(field) => <input {...field} class="i" placeholder="at once, when it is saved" value={text(properties, 'startTime')} onInput={(event) => set('startTime', event.currentTarget.value || undefined)} />}
        </Field>
        {kind !== 'once' && (
          <>
            <Field label="Ends" problem={of('recurrence.endTime')}>
              {(field) => <input {...field} class="i" placeholder="never" value={text(properties, 'recurrence.endTime')} onInput={(event) => set('recurrence.endTime', event.currentTarget.value || undefined)} />}
            </Field>
            <Field label="Times at most" problem={of('recurrence.count')}>
              {(field) => <input {...field} class="i short" inputMode="numeric" placeholder="no limit" value={text(properties, 'recurrence.count')} onInput={(event) => set('recurrence.count', number(event.currentTarget.value))} />}
            </Field>
          </>
        )}
      </div>
    </>
  );
}

const list = (value: unknown) => (Array.isArray(value) ? value.join(', ') : '');
const listed = (value: string): unknown => {
  const all = value.split(',').map((one) => one.trim()).filter(Boolean).map(number);
  return all.length === 0 ? undefined : all;
};

function Days({ label, all, chosen, problem, onToggle }: {
  label: string;
  all: [string | number, string][];
  chosen: (string | number)[];
  problem: string | undefined;
  onToggle: (day: string | number) => void;
}) {
  const group = useRef<HTMLDivElement>(null);
  const [here, setHere] = useState(0);
  const has = (day: string | number) => chosen.some((one) => String(one).toLowerCase() === String(day).toLowerCase());
  const pressed = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 16, ArrowUp: -16 };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(all.length - 1, here + step));
    setHere(next);
    group.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <>
      <div class={`days${all.length < 16 ? ' few' : ''}`} role="group" aria-label={label} ref={group} onKeyDown={pressed}>
        {all.map(([day, short], place) => (
          <button key={day} type="button" aria-pressed={has(day)} aria-label={short === 'last' ? 'last day' : String(day)} tabIndex={place === here ? 0 : -1}
            onFocus={() => setHere(place)} onClick={() => onToggle(day)}>{short}</button>
        ))}
      </div>
      {problem && <Wrong>{problem}</Wrong>}
    </>
  );
}

function Act(given: FormProps) {
  return (
    <Action properties={given.properties} change={given.change} of={given.of} base="action" label="Type of action" isKept={given.setName === null} />
  );
}

function Fails(given: FormProps) {
  const { properties, change, of } = given;
  const hasError = at(properties, 'action.errorAction') !== undefined;
  const set = (path: string, value: unknown) => change(put(properties, path, value));
  const isNone = /none/i.test(text(properties, 'action.retryPolicy.retryType'));
  const count = text(properties, 'action.retryPolicy.retryCount');
  const pause = text(properties, 'action.retryPolicy.retryInterval');
  return (
    <>
      <Choice label="Retries" value={isNone ? 'None' : 'Fixed'} options={[['Fixed', 'try again'], ['None', 'do not try again']]}
        onChange={(to) => set('action.retryPolicy', to === 'None' ? { retryType: 'None' } : { retryType: 'Fixed' })} />
      {!isNone && (
        <div class="row2">
          <Field label="How often" problem={of('action.retryPolicy.retryCount')}>
            {(field) => <input {...field} class="i short" inputMode="numeric" placeholder="4" value={count} onInput={(event) => set('action.retryPolicy.retryCount', number(event.currentTarget.value))} />}
          </Field>
          <SpanField label="How far apart" placeholder="30 s" problem={of('action.retryPolicy.retryInterval')} value={pause} write={(to) => set('action.retryPolicy.retryInterval', to)} />
        </div>
      )}
      {!isNone && <RetryPolicies properties={properties} change={change} of={of} />}
      <p class="then">When the last attempt has failed</p>
      <Choice label="When the last attempt has failed" value={hasError ? 'call' : 'nothing'} options={[['nothing', 'do nothing more'], ['call', 'perform another action']]}
        onChange={(to) => set('action.errorAction', to === 'call' ? { type: 'Https', request: { method: 'POST' } } : undefined)} />
      {hasError && <div class="inner"><Action properties={properties} change={change} of={of} base="action.errorAction" label="Type of the other action" isKept={given.setName === null} /></div>}
    </>
  );
}

function Json({ json, onWrite, problem, line }: { json: string; onWrite: (text: string) => void; problem: string | null; line: number | null }) {
  const count = json.split('\n').length;
  return (
    <div class="step json">
      <pre class="gutter" aria-hidden="true">{Array.from({ length: count }, (_, row) => <span key={row} class={row + 1 === line ? 'bad' : ''}>{row + 1}{'\n'}</span>)}</pre>
      <textarea aria-label="The job as JSON" spellcheck={false} rows={Math.max(18, count)} value={json} aria-invalid={problem !== null}
        aria-describedby={problem ? 'json-problem' : undefined} onInput={(event) => onWrite(event.currentTarget.value)} />
      {problem && <Wrong id="json-problem">{`${line === null ? '' : `Line ${line}: `}${problem}`}</Wrong>}
    </div>
  );
}

/** Asks the server what a line of a crontab means, and takes its recurrence over. */
function Cron({ zone, onTake }: { zone: string; onTake: (recurrence: Document) => void }) {
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
      setFound(await api.convert({ format: 'crontab', text, template: 'https://example.com/?{command}', ...(zone && { timeZone: zone }) }));
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  return (
    <div class="step">
      <form class="row2" onSubmit={read}>
        <Field label="Minute, hour, day, month, day of the week">
          {(field) => <input {...field} class="i mono" required placeholder="*/15 8-17 * * 1-5" spellcheck={false} value={line} onInput={(event) => setLine(event.currentTarget.value)} />}
        </Field>
        <button type="submit" class="btn">Read it</button>
      </form>
      {error && <ErrorPanel error={error} />}
      {found?.problems.map((one, row) => <Wrong key={row}>{`${one.why} ${one.remedy}`}</Wrong>)}
      {found && found.jobs.length > 1 && <p class="muted">Cron means either of two things here, so it takes a job for each.</p>}
      {found?.jobs.map((job) => (
        <p key={job.name} class="row2"><span class="voice">{capital(job.sentence)}</span>
          <button type="button" class="btn sm" onClick={() => onTake(job.document.properties.recurrence ?? {})}>Take it</button></p>
      ))}
    </div>
  );
}

/** The job for other tools. */
function Elsewhere({ collection, name, properties }: { collection: string; name: string; properties: JobProperties }) {
  const forms: [string, string][] = [
    ['curl', asCurl(place.value, collection, name, properties)],
    ['The command line', asCommand(place.value, collection, name, properties)],
    ['A resource of an ARM template', asArm(collection, name, properties)],
  ];
  return (
    <div class="step">
      {forms.map(([title, written]) => (
        <section key={title} aria-label={title}>
          <p class="acts"><b>{title}</b><Copy text={() => written} /></p>
          <pre class="code" tabIndex={0} role="group" aria-label={title}>{written}</pre>
        </section>
      ))}
      <p class="faint">Secrets are left out. The token for curl comes from the shell's environment.</p>
    </div>
  );
}

/** What is said of a property that no field of the form is for. */
const NOWHERE = /^'[^']*' (is not a property|belongs)/;

function Meaning({ asked, problem, isExample, zone, isEdit, collection, onStart, onTime }: {
  asked: Asked;
  problem: string | null;
  isExample: boolean;
  zone: string;
  isEdit: boolean;
  collection: string;
  /** Takes an instant as the start. */
  onStart: (instant: string) => void;
  /** Takes another time of the day; `null` if the job has more than one. */
  onTime: ((time: string) => void) | null;
}) {
  tick.value;
  const { preview, check, took } = asked;
  const spoken = useSpoken(problem ?? preview?.sentence ?? '');
  const before = useRef<string | null>(null);
  const sentence = preview ? capital(preview.sentence) : null;
  const marked = useMemo(() => {
    const old = before.current;
    before.current = sentence;
    return sentence === null ? [] : words(old, sentence);
  }, [sentence]);
  // The first one of the rule itself, if saving fires, too.
  const first = preview?.firesOnSave ? preview.occurrences[1] : preview?.occurrences[0];
  const startInstead = preview?.firesOnSave && first
    ? <button type="button" class="btn sm" onClick={() => onStart(first.at)}>Start on {dayOf(first.local)} at {oclock(first.local.slice(11, 16))} instead</button>
    : null;
  return (
    <aside class="sheet pv" aria-labelledby="meaning">
      <header>
        <h2 id="meaning">{isExample ? 'An example' : 'What you have said'}</h2>
        <span class="r">{took !== null && `asked the server, ${Math.round(took)} ms`}</span>
      </header>
      <p class={`say${asked.error ? ' faint' : ''}`} data-testid="sentence">{marked.map(([word, isNew], place) => (isNew ? <mark key={place}>{word}</mark> : word))}</p>
      <p class="vh" aria-live="polite">{spoken}</p>
      {asked.error && <ErrorPanel error={asked.error} />}
      {!asked.error && problem && NOWHERE.test(problem) && <div class="pad"><Wrong>{problem}</Wrong></div>}
      {check?.warnings.map((warning) => (
        <div class="warn" key={warning.message}><i aria-hidden="true">▲</i><span>{warning.message} {warning.kind === 'firesOnSave' && startInstead}</span></div>
      ))}
      {!check && preview?.firesOnSave && (
        <div class="warn"><i aria-hidden="true">▲</i><span><b>It also fires at once when you save,</b> since no start is given. {startInstead}</span></div>
      )}
      {isEdit && check?.change && <Change change={check.change} zone={zone || 'UTC'} />}
      {preview && (
        <>
          <table>
            <thead><tr><th>Next</th><th>{zone || 'UTC'}</th><th>UTC</th><th class="num">in</th></tr></thead>
            <tbody>
              {preview.occurrences.map((one) => {
                const instant = Date.parse(one.at);
                return (
                  <tr key={one.at}>
                    <td>{dayOf(one.local)}</td>
                    <td><b>{oclock(one.local.slice(11, 16))}</b> <span class="faint">{one.offset.replace('-', '−')}</span></td>
                    <td class="muted">{oclock(parts(instant, 'UTC').time)}</td>
                    <td class="num muted">{one.note ? <span class="note">▲ {one.note.text}</span> : until(instant).replace(/^in /, '')}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          <p class="faint pad">
            {preview.occurrences.length === 0 ? 'It never fires.' : `${grouped(preview.perYear)} a year${preview.smallestGap ? `, never two closer than ${isoSpan(preview.smallestGap)}` : ''}.`}
            {preview.clockChanges.slice(0, 3).map((one) => <span key={one.at} class="note line">▲ {dayOf(one.local)}: {one.note?.text}</span>)}
          </p>
        </>
      )}
      {first && !asked.error && <Neighbours collection={collection} at={Date.parse(first.at)} local={first.local} onTime={onTime} />}
    </aside>
  );
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** How far from the wanted minute a quieter one is looked for. */
const NEAR = 15;

/** The quietest minute near another, the nearest of those that are alike. */
export function quieter(counts: number[], minute: number): number {
  let best = minute;
  for (let away = 1; away <= NEAR; away += 1) {
    for (const next of [minute + away, minute - away]) {
      if ((counts[next] ?? Infinity) < (counts[best] ?? 0)) best = next;
    }
  }
  return best;
}

/** What else of the collection is due around the first occurrence, and a minute that has less. */
function Neighbours({ collection, at: instant, local, onTime }: {
  collection: string;
  at: number;
  local: string;
  onTime: ((time: string) => void) | null;
}) {
  const { subscription, group } = place.value;
  const minute = Number(local.slice(14, 16));
  const from = instant - minute * MINUTE_MS - (instant % MINUTE_MS);
  const load = useLoad(`neighbours ${subscription}/${group}/${collection} ${from}`, () => api.load(place.value, {
    collection: `${group}/${collection}`, from: new Date(from).toISOString(), to: new Date(from + HOUR_MS).toISOString(), step: 'PT1M',
  }), null);
  // What is missing here keeps no one from saving.
  if (load.data === null) return null;
  const { counts } = load.data;
  const here = counts[minute] ?? 0;
  const other = quieter(counts, minute);
  const hour = local.slice(11, 13);
  const name = (of: number) => `${hour}:${String(of).padStart(2, '0')}`;
  const due = (count: number) => `${count === 0 ? 'nothing' : grouped(count)}${count === 0 ? ' else' : ''}`;
  return (
    <div class="load">
      <p>
        {here === 0 ? <>Of {collection}, nothing else is due at {name(minute)}.</> : <><b>{grouped(here)} of {collection}</b> {here === 1 ? 'is' : 'are'} due at {name(minute)}.</>}
        {other !== minute && onTime && <> {name(other)} has {due(counts[other] ?? 0)}. <button type="button" class="btn sm" onClick={() => onTime(name(other))}>Take {name(other)}</button></>}
      </p>
      {counts.some((count) => count > 0) && <Bars data={load.data} step={MINUTE_MS} zone="UTC" labels={[...[0, 15, 30, 45].map(name), `${String((Number(hour) + 1) % 24).padStart(2, '0')}:00`]} mark={minute} label={`Occurrences of ${collection} a minute`} />}
    </div>
  );
}

function Change({ change, zone }: { change: NonNullable<Check['change']>; zone: string }) {
  if (!change.timing) return null;
  const shown = (all: string[]) => all.slice(0, 3).map((one) => civil(Date.parse(one), zone)).join(', ') || 'none';
  return (
    <div class="warn">
      <i aria-hidden="true">▲</i>
      <span>
        The timing changes{change.dropsPending && ': pending retries are dropped'}{change.countRestarts && ', and the count starts again'}.
        <span class="line">Goes: {shown(change.gone)}{change.gone.length > 3 && ` and ${change.gone.length - 3} more`}.</span>
        <span class="line">Comes: {shown(change.new)}{change.new.length > 3 && ` and ${change.new.length - 3} more`}.</span>
      </span>
    </div>
  );
}

function dayOf(local: string): string {
  const day = parts(Date.parse(`${local.slice(0, 10)}T00:00:00Z`), 'UTC');
  return `${day.day} ${day.year}`;
}

/** The words of a sentence, and which of them the one before did not have. */
function words(old: string | null, next: string): [string, boolean][] {
  const had = new Set(old?.split(' '));
  return next.split(' ').map((word, place) => [`${place > 0 ? ' ' : ''}${word}`, old !== null && !had.has(word)]);
}

/** A text for a screen reader, once it has rested. */
function useSpoken(text: string): string {
  const [spoken, set] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => set(text), SPEAK_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return spoken;
}
