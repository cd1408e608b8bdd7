import type { Client } from '@davit/client';
import { api } from '../api.ts';
import type { Json } from './paths.ts';

export type Params = Readonly<Record<string, string>>;
export type SendId = Parameters<Client['call']>[0];
type Send = (id: SendId, input: { params: Params; body?: Json; ifUpdatedAt?: string }) => Promise<unknown>;

/**
 * Calls an operation whose body a form made. The fields of a form come from its table of entries, so that the compiler
 * cannot know them; the server checks each of them and names those that are wrong.
 */
export function send(id: SendId, params: Params, body?: Json, ifUpdatedAt?: string): Promise<unknown> {
  const client = api();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  const call = client.call.bind(client) as unknown as Send;
  return call(id, { params, ...(body !== undefined && { body }), ...(ifUpdatedAt !== undefined && { ifUpdatedAt }) });
}

/** Returns a member of an answer as text; empty if it has no such text. */
export function textOf(answer: unknown, name: string): string {
  if (typeof answer !== 'object' || answer === null) return '';
  const value: unknown = Reflect.get(answer, name);
  return typeof value === 'string' ? value : '';
}
