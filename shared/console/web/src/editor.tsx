// A new job, or a change of one: what is said on the left, what it means on the right.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Document, JobProperties } from './answers';
import { api, ApiError, FIRST_COLLECTION } from './api';
import { changes, lineOf, put, text, times, withoutSecrets, withStart, withTimes } from './document';
import { forgetDraft, keepDraft, keptDraft } from './draft';
import { JobForm } from './form';
import { useKeys } from './keys';
import { asError, type Loaded, useLoad } from './load';
import { Meaning, useMeaning } from './meaning';
import { Meanwhile } from './meanwhile';
import { mendings } from './mend';
import { isName, takenBy } from './naming';
import { go, guard, inPlace, may, place, route, say } from './state';
import { mine, now } from './time';
import { Crumbs, ErrorPanel, Key, Mendings, Panel, Title } from './ui';
import { Cron, Elsewhere, Json } from './written';

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
        const left = ['sign', 'paused', 'snoozedUntil'];
        const properties = left.reduce<Document>(
          (all, one) => put(all, `minutehand.${one}`, undefined),
          copied,
        ) as JobProperties;
        return (
          <Editor
            collection={collection}
            first={properties}
            startName=""
            old={null}
            note={secrets ? `Passwords and tokens of ${from} are not copied: enter them again.` : null}
          />
        );
      }}
    </Before>
  );
}

/** The page has its heading while its job is read. */
function Before<T>({
  of,
  title,
  children,
}: {
  of: Loaded<T>;
  title: string;
  children: (data: T) => ComponentChildren;
}) {
  return (
    <>
      {of.data === null && (
        <div class="head">
          <Title>{title}</Title>
        </div>
      )}
      <Panel of={of} rows={8}>
        {children}
      </Panel>
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
        <Editor
          key={etag}
          collection={collection}
          first={properties}
          startName={name}
          old={properties}
          etag={etag}
          onReload={loaded.reload}
        />
      )}
    </Before>
  );
}

type Tab = 'form' | 'json' | 'cron' | 'as';
const TABS: readonly (readonly [Tab, string])[] = [
  ['form', 'Form'],
  ['json', 'JSON'],
  ['cron', 'From a cron line'],
  ['as', 'As curl, CLI, ARM'],
];

function Editor({
  collection,
  first,
  startName,
  old,
  etag = null,
  onReload,
  note = null,
}: {
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
  const [isAtOnce, setAtOnce] = useState(false);
  /** What is sent: a new job starts at its next occurrence, unless it says otherwise. */
  const whole = () => (old || isAtOnce ? properties : withStart(properties, now()));
  const asked = useMeaning(collection, isName(name) ? name : '', whole(), old);
  const isChanged = name !== startName || JSON.stringify(properties) !== JSON.stringify(first);

  useEffect(() => {
    if (old === null && isChanged) {
      keepDraft(collection, { name, properties });
    }
  }, [properties, name]);
  useEffect(() => {
    guard.value = isChanged && !isSaving ? () => 'Leave? What you changed is not saved.' : null;
    return () => {
      guard.value = null;
    };
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
    if (isSaving || jsonProblem !== null || !may('write')) return;
    if (!isName(name)) {
      setTab('form');
      say(name ? 'Correct the name first.' : 'Give the job a name first.');
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
      else await putNew(collection, name, isTrial ? { ...whole(), state: 'Disabled' } : whole());
      if (isTrial) await api.run(place.value, collection, name);
      leave();
      say(isTrial ? `${name} is saved switched off, and runs once.` : `${name} is saved.`);
      go(inPlace('job', collection, name));
    } catch (thrown) {
      setSaving(false);
      const error = asError(thrown);
      const isTaken = error.status === 412 && !old;
      setRefused(isTaken ? new ApiError(412, error.code, takenBy(collection, name), 'name', error.requestId) : error);
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

  const problem = refused?.target ? refused : (asked.check?.problems[0] ?? asked.error);
  const of = (path: string) => {
    const about = (problem?.target ?? '').replace(/^properties\./, '');
    return about === path || about.startsWith(`${path}.`) ? problem?.message : undefined;
  };
  return (
    <Mendings.Provider value={mendings({ properties }, problem, (next) => mended(next.properties as JobProperties))}>
      <div class="head">
        <div>
          <Crumbs collection={collection} here={old ? 'edit' : 'new job'} />
          <Title>{old ? startName : 'New job'}</Title>
        </div>
        <div class="acts">
          <button type="button" class="btn bare" onClick={discard}>
            Discard
          </button>
          {!old && (
            <button type="button" class="btn" disabled={isSaving} onClick={() => void save(true)}>
              Save switched off, and try it once
            </button>
          )}
          <button
            type="button"
            class="btn go"
            disabled={isSaving || !may('write') || (old !== null && !isChanged)}
            onClick={() => void save(false)}
          >
            Save <Key>Ctrl Enter</Key>
          </button>
        </div>
      </div>
      {!may('write') && (
        <p class="notice" role="status">
          You may not change jobs here: nothing can be saved.
        </p>
      )}
      {note && (
        <p class="notice" role="status">
          {note}
        </p>
      )}
      {refused && !(refused.status === 412 && old) && <ErrorPanel error={refused} />}
      {refused?.status === 412 && old && (
        <Meanwhile
          collection={collection}
          name={startName}
          old={old}
          mine={properties}
          onMine={() => void save(false, true)}
          onTheirs={() => {
            leave();
            onReload?.();
          }}
        />
      )}
      <div class="grid wiz">
        <div class="sheet">
          <Tabs tab={tab} onShow={show} />
          <div role="tabpanel" id="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === 'form' && (
              <JobForm
                properties={properties}
                change={change}
                of={of}
                name={name}
                setName={old ? null : setName}
                collection={collection}
                atOnce={old ? null : { is: isAtOnce, set: setAtOnce }}
                sentence={asked.preview?.sentence ?? ''}
              />
            )}
            {tab === 'json' && (
              <Json
                json={json}
                onWrite={writeJson}
                problem={jsonProblem ?? problem?.message ?? null}
                line={problem?.target && jsonProblem === null ? lineOf(json, problem.target) : null}
              />
            )}
            {tab === 'cron' && (
              <Cron
                zone={text(properties, 'recurrence.timeZone')}
                onTake={(recurrence) => {
                  change({ ...properties, recurrence });
                  show('form');
                }}
              />
            )}
            {tab === 'as' && (
              <Elsewhere
                collection={collection}
                name={name || 'NAME'}
                properties={withoutSecrets(whole()) as JobProperties}
              />
            )}
          </div>
        </div>
        <Meaning
          asked={asked}
          problem={problem?.message ?? null}
          isExample={!isChanged && first === EXAMPLE}
          zone={text(properties, 'recurrence.timeZone')}
          isEdit={old !== null}
          collection={collection}
          onStart={(instant) => change(put(properties, 'startTime', instant))}
          onTime={times(properties).includes(',') ? null : (time) => change(withTimes(properties, time).document)}
        />
      </div>
    </Mendings.Provider>
  );
}

/** Makes a job, and before it the first collection, if that is where it belongs. */
async function putNew(collection: string, name: string, properties: JobProperties) {
  try {
    await api.putNewJob(place.value, collection, name, properties);
  } catch (thrown) {
    if (collection !== FIRST_COLLECTION || asError(thrown).status !== 404) throw thrown;
    await api.makeFirstCollection(place.value);
    await api.putNewJob(place.value, collection, name, properties);
  }
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
        <button
          key={one}
          type="button"
          role="tab"
          id={`tab-${one}`}
          aria-selected={one === tab}
          aria-controls="tabpanel"
          tabIndex={one === tab ? 0 : -1}
          onClick={() => onShow(one)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
