// The types of actions: what a job does, as a form, and in a few words. Each message type is an entry of a table.
import type { Document } from './answers';
import { at, expecting, put, text } from './document';
import { type Form, type Line, Lines, Unsaid } from './fields';
import { type Pasted, pasted, schemeOf } from './pasted';
import { me, say } from './state';
import { Choice, Field } from './ui';

interface MessageType {
  /** What it is called in the form. */
  name: string;
  /** The property of the action that holds what is sent. */
  property: string;
  /** What it has from the start. */
  first?: Document;
  lines: readonly Line[];
  /** More of its properties, which are rarely needed. */
  more?: readonly Line[];
  /** What it does, in a few words. */
  said: (read: (path: string) => string) => string;
}

const MESSAGE: Line = { path: 'message', label: 'Message', as: 'long' };
const FORMAT: Line = {
  path: 'messageFormat',
  label: 'The message is sent',
  as: [
    ['envelope', 'as Azure sent it'],
    ['raw', 'as it is'],
  ],
};

const ATTRIBUTES: Line = {
  path: 'messageAttributes',
  label: 'Attributes, one a line',
  as: 'pairs',
  placeholder: 'priority: high',
};

const GROUP: Line = { path: 'messageGroupId', label: 'Message group, if it is FIFO', placeholder: "the job's id" };

const BROKERED = (
  [
    ['contentType', 'Content type', 'text/plain'],
    ['label', 'Label'],
    ['correlationId', 'Correlation id'],
    ['messageId', 'Message id', 'the execution id'],
    ['sessionId', 'Session id'],
    ['partitionKey', 'Partition key'],
    ['viaPartitionKey', 'Via partition key'],
    ['to', 'To'],
    ['replyTo', 'Reply to'],
    ['replyToSessionId', 'Reply to session id'],
    ['scheduledEnqueueTimeUtc', 'Enqueued at', '2027-03-14T05:00:00Z'],
  ] as const
).map(
  ([name, label, placeholder]): Line => ({
    path: `brokeredMessageProperties.${name}`,
    label,
    ...(placeholder && { placeholder }),
  }),
);

const serviceBus = (name: string, entity: Line): MessageType => ({
  name,
  property: entity.path === 'queueName' ? 'serviceBusQueueMessage' : 'serviceBusTopicMessage',
  first: { authentication: { type: 'sharedAccessKey' } },
  lines: [
    { path: 'namespace', label: 'Namespace' },
    entity,
    { path: 'authentication.sasKeyName', label: 'Name of the key' },
    { path: 'authentication.sasKey', label: 'Key', as: 'secret' },
    {
      path: 'transportType',
      label: 'Over',
      as: [
        ['netMessaging', 'HTTPS'],
        ['AMQP', 'AMQP'],
      ],
      optionOf: (value) => (/^amqp$/i.test(String(value)) ? 'AMQP' : 'netMessaging'),
    },
    FORMAT,
    MESSAGE,
    {
      path: 'customMessageProperties',
      label: 'Properties of your own, one a line',
      as: 'pairs',
      placeholder: 'priority: high',
    },
  ],
  more: [
    ...BROKERED,
    { path: 'brokeredMessageProperties.timeToLive', label: 'Time to live', as: 'span', placeholder: '1 h' },
    {
      path: 'brokeredMessageProperties.forcePersistence',
      label: 'Forced persistence',
      as: [
        ['', 'as the entity has it'],
        ['true', 'yes', true],
        ['false', 'no', false],
      ],
    },
  ],
  said: (read) =>
    `Service Bus ${entity.path === 'queueName' ? 'queue' : 'topic'} ${read(entity.path)} of ${read('namespace')}`,
});

const MESSAGES: Record<string, MessageType> = {
  StorageQueue: {
    name: 'Storage queue',
    property: 'queueMessage',
    lines: [
      { path: 'storageAccount', label: 'Storage account' },
      { path: 'queueName', label: 'Queue' },
      { path: 'sasToken', label: 'SAS token', as: 'secret' },
      FORMAT,
      MESSAGE,
    ],
    said: (read) => `queue ${read('queueName')} of ${read('storageAccount')}`,
  },
  ServiceBusQueue: serviceBus('Service Bus queue', { path: 'queueName', label: 'Queue' }),
  ServiceBusTopic: serviceBus('Service Bus topic', { path: 'topicPath', label: 'Topic' }),
  Sqs: {
    name: 'SQS',
    property: 'sqsMessage',
    lines: [
      { path: 'queueUrl', label: 'URL of the queue', placeholder: 'https://sqs.eu-west-1.amazonaws.com/…' },
      MESSAGE,
      ATTRIBUTES,
      GROUP,
    ],
    said: (read) => `SQS ${read('queueUrl').replace(/^https?:\/\//, '')}`,
  },
  Sns: {
    name: 'SNS',
    property: 'snsMessage',
    lines: [
      { path: 'topicArn', label: 'ARN of the topic', placeholder: 'arn:aws:sns:…' },
      { path: 'subject', label: 'Subject', placeholder: 'none' },
      MESSAGE,
      ATTRIBUTES,
      GROUP,
    ],
    said: (read) => `SNS ${read('topicArn')}`,
  },
  Lambda: {
    name: 'Lambda',
    property: 'lambdaInvocation',
    lines: [
      { path: 'functionName', label: 'Function' },
      { path: 'payload', label: 'Payload, as JSON', as: 'long', placeholder: 'none' },
    ],
    said: (read) => `Lambda ${read('functionName')}`,
  },
  EventBridge: {
    name: 'EventBridge',
    property: 'eventBridgeEvent',
    lines: [
      { path: 'eventBusName', label: 'Event bus', placeholder: 'default' },
      { path: 'source', label: 'Source' },
      { path: 'detailType', label: 'Detail type' },
      { path: 'detail', label: 'Detail, as JSON', as: 'long' },
      { path: 'resources', label: 'Resources, one a line', as: 'list' },
    ],
    said: (read) => `EventBridge ${read('eventBusName') || 'default'}: ${read('detailType')}`,
  },
  Expect: {
    name: 'Expect a ping',
    property: 'expect',
    lines: [
      { path: 'early', label: 'From before the instant', as: 'span', placeholder: '5 min' },
      { path: 'grace', label: 'Until after it, or after a start', as: 'span', placeholder: '10 min' },
    ],
    said: () => 'a ping',
  },
};

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'];
const HTTP_LINES: readonly Line[] = [
  { path: 'headers', label: 'Headers, one a line', as: 'pairs', placeholder: 'Content-Type: application/json' },
  { path: 'body', label: 'Body', as: 'long' },
];

interface ActionProps extends Form {
  /** Where the action is in the document. */
  base: string;
  label: string;
  /** Whether the server has secrets of this document. */
  isKept: boolean;
}

/** The type in the case of this table; the text itself if the table does not have it. */
function typeOf(written: string): string {
  const all = ['Https', 'Http', ...Object.keys(MESSAGES)];
  return all.find((one) => one.toLowerCase() === written.toLowerCase()) ?? (written || 'Https');
}

/** The types that the installation takes at a place, and the one that is there. What follows an action expects no ping. */
function offered(current: string, base: string): [string, string][] {
  const taken = me.value?.actions ?? [];
  const all: [string, string][] = [
    ['Https', 'HTTPS'],
    ['Http', 'HTTP'],
    ...Object.entries(MESSAGES).map(([type, { name }]): [string, string] => [type, name]),
  ];
  const isTaken = (type: string) => taken.length === 0 || taken.some((one) => one.toLowerCase() === type.toLowerCase());
  return all.filter(([type]) => type === current || (isTaken(type) && (type !== 'Expect' || base === 'action')));
}

/** An action: that of the job, or that after its failure. */
export function Action({ properties, change, of, base, label, isKept }: ActionProps) {
  const type = typeOf(text(properties, `${base}.type`));
  const isHttp = type === 'Http' || type === 'Https';
  const message = MESSAGES[type];
  const set = (path: string, value: unknown) => change(put(properties, `${base}.${path}`, value));
  /** Another action; what happens after its failure stays. */
  const become = (action: Document) => {
    const { retryPolicy, errorAction } = (at(properties, base) ?? {}) as Document;
    change(
      put(properties, base, {
        ...action,
        ...(retryPolicy !== undefined && { retryPolicy }),
        ...(errorAction !== undefined && { errorAction }),
      }),
    );
  };
  const turn = (to: string) => {
    if (isHttp && /^https?$/i.test(to)) return set('type', to);
    if (to === 'Expect') {
      const { document, dropped } = expecting(properties);
      if (dropped.length > 0) say(`Nothing is sent now, so these are gone: ${dropped.join(', ')}.`);
      return change(document);
    }
    const next = MESSAGES[to];
    return become(next ? { type: to, [next.property]: { ...next.first } } : { type: to, request: { method: 'POST' } });
  };
  const types = offered(type, base);
  const isOffered = (to: unknown) => types.some(([one]) => one === to);
  const take = (action: Document) => {
    become(action);
    say(`Read as ${target(action)}.`);
    // The field that it was pasted into may be gone once the form is there.
    setTimeout(() => {
      if (document.activeElement !== document.body) return;
      document.querySelector<HTMLElement>(`[aria-label="${label}"] [aria-pressed="true"]`)?.focus();
    });
  };
  const writeUri = (uri: string) => {
    const scheme = schemeOf(uri);
    const next = put(properties, `${base}.request.uri`, uri);
    change(isOffered(scheme) ? put(next, `${base}.type`, scheme) : next);
  };
  const form = { properties, change, of };
  return (
    <>
      <Choice
        label={label}
        value={type}
        options={types.some(([one]) => one === type) ? types : [...types, [type, type]]}
        onChange={turn}
      />
      {isHttp && (
        <Http
          {...form}
          base={`${base}.request`}
          isKept={isKept}
          typeProblem={of(`${base}.type`)}
          writeUri={writeUri}
          read={(text) => {
            const found = pasted(text);
            return found && 'action' in found && !isOffered(found.action.type) ? null : found;
          }}
          take={take}
        />
      )}
      {message && (
        <>
          <Lines {...form} base={`${base}.${message.property}`} lines={message.lines} isKept={isKept} />
          {message.more && (
            <details
              class="more"
              open={at(properties, `${base}.${message.property}.brokeredMessageProperties`) !== undefined || undefined}
            >
              <summary>Properties that Service Bus reads</summary>
              <Lines {...form} base={`${base}.${message.property}`} lines={message.more} />
            </details>
          )}
          <Unsaid
            {...form}
            base={base}
            lines={[...message.lines, ...(message.more ?? [])].map((line) => ({
              ...line,
              path: `${message.property}.${line.path}`,
            }))}
          />
        </>
      )}
      {!isHttp && !message && <p class="muted">The properties of an action of the type {type} are in the tab JSON.</p>}
    </>
  );
}

function Http({
  properties,
  change,
  of,
  base,
  isKept,
  typeProblem,
  writeUri,
  read,
  take,
}: Omit<ActionProps, 'label'> & {
  typeProblem: string | undefined;
  writeUri: (uri: string) => void;
  read: (text: string) => Pasted;
  take: (action: Document) => void;
}) {
  const uri = text(properties, `${base}.uri`);
  const found = read(uri);
  const meant = found && 'action' in found ? found.action : null;
  const set = (path: string, value: unknown) => change(put(properties, `${base}.${path}`, value));
  const form = { properties, change, of };
  return (
    <>
      <div class="row2 whole">
        <Field label="Method" problem={of(`${base}.method`)}>
          {(field) => (
            <select
              {...field}
              class="i"
              value={text(properties, `${base}.method`).toUpperCase() || 'GET'}
              onChange={(event) => set('method', event.currentTarget.value)}
            >
              {METHODS.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        <Field
          label="URL"
          problem={found && 'problem' in found ? found.problem : meant ? undefined : (of(`${base}.uri`) ?? typeProblem)}
          hint={
            meant && (
              <>
                This means {target(meant)}.{' '}
                <button type="button" class="btn sm" onClick={() => take(meant)}>
                  Take it over
                </button>
              </>
            )
          }
        >
          {(field) => (
            <input
              {...field}
              class={`i${field['aria-invalid'] ? ' bad' : ''}`}
              spellcheck={false}
              autocomplete="off"
              placeholder="https://… or a line of curl"
              value={uri}
              onInput={(event) => writeUri(event.currentTarget.value)}
              onPaste={(event) => {
                const said = read(event.clipboardData?.getData('text') ?? '');
                if (!said || !('action' in said)) return;
                event.preventDefault();
                take(said.action);
              }}
            />
          )}
        </Field>
      </div>
      <Lines {...form} base={base} lines={HTTP_LINES} />
      <Authentication {...form} base={`${base}.authentication`} isKept={isKept} />
    </>
  );
}

const AUTHENTICATIONS: Record<string, readonly Line[]> = {
  Basic: [
    { path: 'username', label: 'User' },
    { path: 'password', label: 'Password', as: 'secret' },
  ],
  ClientCertificate: [
    { path: 'pfx', label: 'Certificate and key, as PFX in Base64', as: 'secret' },
    { path: 'password', label: 'Password of the PFX', as: 'secret' },
  ],
  ActiveDirectoryOAuth: [
    { path: 'tenant', label: 'Tenant' },
    { path: 'audience', label: 'Audience' },
    { path: 'clientId', label: 'Client id' },
    { path: 'secret', label: 'Secret', as: 'secret' },
  ],
};

const AUTHENTICATION_NAMES: readonly (readonly [string, string])[] = [
  ['', 'none'],
  ['Basic', 'Basic'],
  ['ClientCertificate', 'Client certificate'],
  ['ActiveDirectoryOAuth', 'OAuth'],
];

function Authentication({ properties, change, of, base, isKept }: Omit<ActionProps, 'label'>) {
  const type = text(properties, `${base}.type`);
  const known = AUTHENTICATION_NAMES.find(([one]) => one.toLowerCase() === type.toLowerCase())?.[0] ?? type;
  const lines = AUTHENTICATIONS[known];
  const form = { properties, change, of };
  const said = lines?.some((line) => of(`${base}.${line.path}`) !== undefined) ? undefined : of(base);
  return (
    <>
      <div class="row2">
        <Field label="Authentication" problem={said}>
          {(field) => (
            <select
              {...field}
              class="i"
              value={known}
              onChange={(event) =>
                change(
                  put(properties, base, event.currentTarget.value ? { type: event.currentTarget.value } : undefined),
                )
              }
            >
              {AUTHENTICATION_NAMES.map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
              {!AUTHENTICATION_NAMES.some(([value]) => value === known) && <option>{known}</option>}
            </select>
          )}
        </Field>
      </div>
      {lines && <Lines {...form} base={base} lines={lines} isKept={isKept} />}
    </>
  );
}

/** What an action does, in a few words. */
export function target(action: Document | undefined): string {
  const document = action ?? {};
  const uri = text(document, 'request.uri');
  if (uri) return `${(text(document, 'request.method') || 'GET').toUpperCase()} ${uri.replace(/^https?:\/\//, '')}`;
  const type = typeOf(text(document, 'type'));
  const message = MESSAGES[type];
  return message ? message.said((path) => text(document, `${message.property}.${path}`)) : type;
}
