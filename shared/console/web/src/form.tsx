// The form of the editor: when, what, and what if it fails.
import { useRef, useState } from 'preact/hooks';
import { Action, target } from './actions';
import type { Document, JobProperties } from './answers';
import { api } from './api';
import { MONTHS, WEEK_DAYS } from './clock';
import {
  at,
  days,
  expectsPings,
  number,
  type Often,
  often,
  OFTEN,
  put,
  text,
  times,
  toggleDay,
  withOften,
  withTimes,
} from './document';
import { type AtOnce, DateField } from './dates';
import { SpanField } from './fields';
import { useLoad } from './load';
import { NameField } from './naming';
import { Policies, RetryPolicies, saidRetries } from './policies';
import { mine } from './time';
import { capital, Choice, Field, Step, Wrong } from './ui';

interface FormProps {
  properties: JobProperties;
  change: (next: JobProperties) => void;
  of: (path: string) => string | undefined;
  name: string;
  setName: ((name: string) => void) | null;
  collection: string;
  /** Whether a new job fires at once; `null` of one that is there. */
  atOnce: AtOnce | null;
  /** What the server says the document means. */
  sentence: string;
}

/** Which properties the step about failures has. */
const FAILS = ['action.retryPolicy', 'action.errorAction', 'minutehand.retry'];

export function JobForm(given: FormProps) {
  const { action } = given.properties;
  const has = (...paths: string[]) => paths.some((path) => given.of(path) !== undefined);
  return (
    <>
      <Step
        n={1}
        title="When"
        said={given.sentence && capital(given.sentence)}
        hasProblem={has('recurrence', 'startTime')}
      >
        <When {...given} />
      </Step>
      <Step n={2} title="What" said={target(given.properties.action)} hasProblem={has('action') && !has(...FAILS)}>
        <Act {...given} />
      </Step>
      {(!expectsPings(given.properties) || has(...FAILS)) && (
        <Step
          n={3}
          title="If it fails"
          said={
            saidRetries(given.properties) +
            (action?.errorAction ? `; then ${target(action.errorAction as Document)}` : '')
          }
          isFolded
          hasProblem={has(...FAILS)}
        >
          <Fails {...given} />
        </Step>
      )}
      <Policies properties={given.properties} change={given.change} of={given.of} />
      <Step n={5} title="Name" said={given.name} hasProblem={has('name')}>
        {given.setName ? (
          <NameField
            collection={given.collection}
            name={given.name}
            setName={given.setName}
            problem={given.of('name')}
          />
        ) : (
          <Field label={`Name in ${given.collection}`}>
            {(field) => <input {...field} class="i" value={given.name} readOnly />}
          </Field>
        )}
      </Step>
    </>
  );
}

function When({ properties, change, of, atOnce }: FormProps) {
  const kind = often(properties);
  // A job that fires once has no clock of its own.
  const zone = kind === 'once' ? mine : text(properties, 'recurrence.timeZone');
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
            {(field) => (
              <span class="beside">
                <input
                  {...field}
                  class="i short"
                  inputMode="numeric"
                  value={text(properties, 'recurrence.interval')}
                  onInput={(event) => set('recurrence.interval', number(event.currentTarget.value))}
                />{' '}
                {kind}
                {/^1?$/.test(text(properties, 'recurrence.interval')) ? '' : 's'}
              </span>
            )}
          </Field>
          {kind === 'hour' && (
            <Field label="At minutes" problem={of('recurrence.schedule.minutes')}>
              {(field) => (
                <input
                  {...field}
                  class="i"
                  placeholder="as it started"
                  value={list(at(properties, 'recurrence.schedule.minutes'))}
                  onChange={(event) => set('recurrence.schedule.minutes', listed(event.currentTarget.value))}
                />
              )}
            </Field>
          )}
          {(kind === 'day' || hasDays) && (
            <Field label="At" problem={problem ?? of('recurrence.schedule.hours') ?? of('recurrence.schedule.minutes')}>
              {(field) => (
                <input
                  {...field}
                  class="i"
                  placeholder="02:30, 14:30"
                  value={isOwn ? written : times(properties)}
                  onInput={(event) => write(event.currentTarget.value)}
                />
              )}
            </Field>
          )}
        </div>
      )}
      {kind === 'week' && (
        <Days
          label="Days of the week"
          problem={of('recurrence.schedule.weekDays')}
          all={WEEK_DAYS.map((day) => [day, day.slice(0, 3)])}
          chosen={days(properties, 'weekDays')}
          onToggle={(day) => change(toggleDay(properties, 'weekDays', day))}
        />
      )}
      {kind === 'year' && (
        <Days
          label="Months"
          problem={of('recurrence.schedule.months')}
          all={MONTHS.map((month, place) => [place + 1, month.slice(0, 3)])}
          chosen={days(properties, 'months')}
          onToggle={(month) => change(toggleDay(properties, 'months', month))}
        />
      )}
      {isLong && (
        <Days
          label="Days of the month"
          problem={of('recurrence.schedule.monthDays')}
          all={[
            ...Array.from({ length: 31 }, (_, day) => [day + 1, String(day + 1)] as [number, string]),
            [-1, 'last'],
          ]}
          chosen={days(properties, 'monthDays')}
          onToggle={(day) => change(toggleDay(properties, 'monthDays', day))}
        />
      )}
      <div class="row2">
        {kind !== 'once' && (
          <Field label="Time zone" problem={of('recurrence.timeZone')}>
            {(field) => (
              <>
                <input
                  {...field}
                  class="i"
                  list="zones"
                  placeholder="UTC"
                  spellcheck={false}
                  value={text(properties, 'recurrence.timeZone')}
                  onInput={(event) => set('recurrence.timeZone', event.currentTarget.value || undefined)}
                />
                <datalist id="zones">
                  {(zones.data?.names ?? []).map((zone) => (
                    <option key={zone} value={zone} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
        )}
        <DateField
          label={kind === 'once' ? 'At' : 'Starts'}
          placeholder={atOnce && kind !== 'once' ? 'next occurrence, or now' : 'at once, when it is saved'}
          problem={of('startTime')}
          value={text(properties, 'startTime')}
          zone={zone}
          atOnce={atOnce}
          write={(to) => set('startTime', to)}
        />
        {kind !== 'once' && (
          <>
            <DateField
              label="Ends"
              placeholder="never"
              problem={of('recurrence.endTime')}
              value={text(properties, 'recurrence.endTime')}
              zone={zone}
              atOnce={null}
              write={(to) => set('recurrence.endTime', to)}
            />
            <Field label="Times at most" problem={of('recurrence.count')}>
              {(field) => (
                <input
                  {...field}
                  class="i short"
                  inputMode="numeric"
                  placeholder="no limit"
                  value={text(properties, 'recurrence.count')}
                  onInput={(event) => set('recurrence.count', number(event.currentTarget.value))}
                />
              )}
            </Field>
          </>
        )}
      </div>
    </>
  );
}

const list = (value: unknown) => (Array.isArray(value) ? value.join(', ') : '');
const listed = (value: string): unknown => {
  const all = value
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)
    .map(number);
  return all.length === 0 ? undefined : all;
};

function Days({
  label,
  all,
  chosen,
  problem,
  onToggle,
}: {
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
      <div
        class={`days${all.length < 16 ? ' few' : ''}`}
        role="group"
        aria-label={label}
        ref={group}
        onKeyDown={pressed}
      >
        {all.map(([day, short], place) => (
          <button
            key={day}
            type="button"
            aria-pressed={has(day)}
            aria-label={short === 'last' ? 'last day' : String(day)}
            tabIndex={place === here ? 0 : -1}
            onFocus={() => setHere(place)}
            onClick={() => onToggle(day)}
          >
            {short}
          </button>
        ))}
      </div>
      {problem && <Wrong>{problem}</Wrong>}
    </>
  );
}

function Act(given: FormProps) {
  return (
    <Action
      properties={given.properties}
      change={given.change}
      of={given.of}
      base="action"
      label="Type of action"
      isKept={given.setName === null}
    />
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
      <Choice
        label="Retries"
        value={isNone ? 'None' : 'Fixed'}
        options={[
          ['Fixed', 'try again'],
          ['None', 'do not try again'],
        ]}
        onChange={(to) => set('action.retryPolicy', to === 'None' ? { retryType: 'None' } : { retryType: 'Fixed' })}
      />
      {!isNone && (
        <div class="row2">
          <Field label="How often" problem={of('action.retryPolicy.retryCount')}>
            {(field) => (
              <input
                {...field}
                class="i short"
                inputMode="numeric"
                placeholder="4"
                value={count}
                onInput={(event) => set('action.retryPolicy.retryCount', number(event.currentTarget.value))}
              />
            )}
          </Field>
          <SpanField
            label="How far apart"
            placeholder="30 s"
            problem={of('action.retryPolicy.retryInterval')}
            value={pause}
            write={(to) => set('action.retryPolicy.retryInterval', to)}
          />
        </div>
      )}
      {!isNone && <RetryPolicies properties={properties} change={change} of={of} />}
      <p class="then">When the last attempt has failed</p>
      <Choice
        label="When the last attempt has failed"
        value={hasError ? 'call' : 'nothing'}
        options={[
          ['nothing', 'do nothing more'],
          ['call', 'perform another action'],
        ]}
        onChange={(to) =>
          set('action.errorAction', to === 'call' ? { type: 'Https', request: { method: 'POST' } } : undefined)
        }
      />
      {hasError && (
        <div class="inner">
          <Action
            properties={properties}
            change={change}
            of={of}
            base="action.errorAction"
            label="Type of the other action"
            isKept={given.setName === null}
          />
        </div>
      )}
    </>
  );
}
