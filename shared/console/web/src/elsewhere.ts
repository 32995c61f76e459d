// A job for other tools: the command line, a template, curl.
import type { Place } from './answers';
import { jobPath, VERSION } from './api';

/** A job for `minutehand`, as lines for a shell. */
export function asCommand(place: Place, collection: string, job: string, properties: unknown): string {
  const context = `--subscription ${quoted(place.subscription)} --group ${quoted(place.group)}`;
  const line = `minutehand job create ${quoted(`${collection}/${job}`)} ${context} --replace --file - <<'JOB'`;
  return `${line}\n${JSON.stringify({ properties }, null, 2)}\nJOB`;
}

/** A job as a resource of a template. */
export function asArm(collection: string, job: string, properties: unknown): string {
  const type = 'Microsoft.Scheduler/jobCollections/jobs';
  return JSON.stringify({ type, apiVersion: '2016-03-01', name: `${collection}/${job}`, properties }, null, 2);
}

/** A text as one word of a shell. */
const quoted = (text: string) => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The call of a job as a line for a shell. The token stays in the shell's environment. */
export function asCurl(place: Place, collection: string, job: string, properties: unknown): string {
  const url = `${location.origin}${jobPath(place, collection, job)}?${VERSION}`;
  return [
    `curl -X PUT -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json'`,
    `  ${quoted(url)}`,
    `  -d ${quoted(JSON.stringify({ properties }))}`,
  ].join(' \\\n');
}
