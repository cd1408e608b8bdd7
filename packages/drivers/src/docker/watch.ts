import { StringDecoder } from 'node:string_decoder';
import { chunksOf } from '@davit/base-node';
import type { InstanceEvent } from '../driver.ts';
import { stream, unreachable } from './engine-api.ts';
import type { Ends, EngineEvent } from './ends.ts';
import type { Scope } from './instances.ts';
import { label } from './labels.ts';
import { isConnectionError } from './logs.ts';
import { translated } from './refusals.ts';

/**
 * Event types by the engine's event name: Docker's names, and Podman's own where its compatible API passes them
 * through.
 */
const types: Readonly<Record<string, InstanceEvent['type']>> = {
  start: 'STARTED',
  die: 'DIED',
  died: 'DIED',
  destroy: 'REMOVED',
  remove: 'REMOVED',
};

interface Watcher {
  readonly ends: Ends;
  readonly onEvent: (event: InstanceEvent) => void;
}

/** See `ClusterDriver.watch`. Exits of instances are also recorded in `ends`. */
export async function watchEvents(scope: Scope, { ends, onEvent }: Watcher, signal: AbortSignal): Promise<void> {
  const filters = JSON.stringify({ type: ['container'], label: [`${label.installation}=${scope.installation}`] });
  try {
    const response = await stream(scope.docker, { method: 'GET', path: '/events', query: { filters }, signal });
    const decoder = new StringDecoder('utf8');
    let rest = '';
    for await (const chunk of chunksOf(response)) {
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) deliver(line, scope.installation, { ends, onEvent });
    }
  } catch (error) {
    if (signal.aborted) return;
    if (isConnectionError(error)) throw unreachable('ended its events', error);
    throw translated(error, 'The events of the engine could not be read');
  }
}

function deliver(line: string, installation: string, { ends, onEvent }: Watcher): void {
  const parsed = parse(line);
  if (parsed === null) return;
  ends.note(parsed);
  const event = toEvent(parsed, installation);
  if (event) onEvent(event);
}

function parse(line: string): EngineEvent | null {
  if (line.trim() === '') return null;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the engine's own format
  return JSON.parse(line) as EngineEvent;
}

/** Converts an event of the engine to an `InstanceEvent`. Returns null for events of other objects. Pure. */
export function toEvent({ Type, Action, status, Actor }: EngineEvent, installation: string): InstanceEvent | null {
  const type = types[Action ?? status ?? ''];
  const attributes = Actor?.Attributes ?? {};
  if (Type !== 'container' || !type || attributes[label.installation] !== installation) return null;
  return { type, service: attributes[label.service] ?? '', instance: Actor?.ID ?? '' };
}
