// Makes a template with aws-cdk-lib, as an application does, and prints it.

const cdk = require('aws-cdk-lib');
const events = require('aws-cdk-lib/aws-events');
const eventTargets = require('aws-cdk-lib/aws-events-targets');
const scheduler = require('aws-cdk-lib/aws-scheduler');
const targets = require('aws-cdk-lib/aws-scheduler-targets');
const sqs = require('aws-cdk-lib/aws-sqs');
const { tmpdir } = require('node:os');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { join } = require('node:path');

const outdir = mkdtempSync(join(tmpdir(), 'minutehand-convert-'));
try {
  const app = new cdk.App({ outdir, analyticsReporting: false });
  const stack = new cdk.Stack(app, 'Schedules');
  const named = new sqs.Queue(stack, 'Named', { queueName: 'reports' });
  const unnamed = new sqs.Queue(stack, 'Unnamed');

  new scheduler.Schedule(stack, 'Nightly', {
    schedule: scheduler.ScheduleExpression.cron({
      minute: '30', hour: '2', timeZone: cdk.TimeZone.EUROPE_PARIS,
    }),
    target: new targets.SqsSendMessage(named, {
      input: scheduler.ScheduleTargetInput.fromObject({ kind: 'nightly' }),
      deadLetterQueue: named,
      retryAttempts: 2,
      maxEventAge: cdk.Duration.hours(1),
    }),
  });
  new scheduler.Schedule(stack, 'Often', {
    schedule: scheduler.ScheduleExpression.rate(cdk.Duration.minutes(10)),
    target: new targets.SqsSendMessage(named, {
      input: scheduler.ScheduleTargetInput.fromText(`from ${cdk.Aws.REGION}`),
    }),
    enabled: false,
  });
  new scheduler.Schedule(stack, 'Later', {
    schedule: scheduler.ScheduleExpression.rate(cdk.Duration.days(1)),
    target: new targets.SqsSendMessage(unnamed),
  });

  const connection = new events.Connection(stack, 'Connection', {
    authorization: events.Authorization.apiKey('x-api-key', cdk.SecretValue.secretsManager('key')),
  });
  const destination = new events.ApiDestination(stack, 'Destination', {
    connection,
    endpoint: 'https://api.example.com/jobs/*',
    httpMethod: events.HttpMethod.POST,
  });
  new events.Rule(stack, 'Poll', {
    ruleName: 'poll',
    schedule: events.Schedule.cron({ minute: '0/15', hour: '8-17', weekDay: 'MON-FRI' }),
    targets: [
      new eventTargets.ApiDestination(destination, {
        pathParameterValues: ['poll'],
        event: events.RuleTargetInput.fromObject({ full: true }),
      }),
    ],
  });
  new events.Rule(stack, 'OnEvents', { eventPattern: { source: ['mine'] } });

  app.synth();
  process.stdout.write(readFileSync(join(outdir, 'Schedules.template.json')));
} finally {
  rmSync(outdir, { recursive: true });
}
