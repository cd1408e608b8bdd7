import { createHmac } from 'node:crypto';
import type { WebhookKind } from '@davit/contract';

const words: Readonly<Record<string, string>> = {
  DEPLOYMENT_STARTED: 'started',
  DEPLOYMENT_SUCCESSFUL: 'succeeded',
  DEPLOYMENT_FAILURE: 'failed',
  DEPLOYMENT_CANCELLED: 'was canceled',
};

type Json = Readonly<Record<string, unknown>>;

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the request body: the event, or one line for a chat. */
export function bodyOf(kind: WebhookKind, event: Json): Json {
  return kind === 'STANDARD' ? event : { text: lineOf(event) };
}

function lineOf(event: Json): string {
  const payload = event['payload'];
  const nameOf = (part: string): string => escaped(textOf(member(member(payload, part), 'name')));
  const services = ['applications', 'containers', 'databases', 'jobs', 'helms', 'terraforms'].flatMap((list) => {
    const members = member(payload, list);
    return Array.isArray(members) ? members.map((service: unknown) => escaped(textOf(member(service, 'name')))) : [];
  });
  const what = `${textOf(member(payload, 'action')).toLowerCase()} of ${nameOf('project')} / ${nameOf('environment')}`;
  const of = services.length === 0 ? '' : ` (${services.join(', ')})`;
  const by = escaped(textOf(member(payload, 'triggered_by')));
  return `The ${what}${of} ${words[textOf(event['event_type'])] ?? ''}. Requested by ${by}.`;
}

// Names are written by users. These three characters begin links and mentions of everybody.
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * Returns the headers that prove the sender: the secret itself and a signature of the body. Returns none without a
 * secret.
 */
export function signatures(secret: string | null, body: string): Record<string, string> {
  if (secret === null) return {};
  const hmac = createHmac('sha256', secret).update(body).digest('hex');
  return { 'service-signature': secret, 'service-signature-256': hmac };
}
