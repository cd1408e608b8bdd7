import { ApiError } from '@davit/client';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { api } from '../api.ts';
import { send, type Params, type SendId } from './send.ts';

/*
 * Whether the session may change something. The server checks rights before it reads a body, so that a request whose
 * body can never be accepted answers the question and changes nothing. Its refusal has the words of the real one.
 */

/** No record may have an empty name, and nobody has an empty address. */
const impossible = { name: '', email: '' };

/** Returns why the session may not do what the request asks for; null if it may. The request can never be accepted. */
async function refusalTo(request: () => Promise<unknown>): Promise<string | null> {
  try {
    await request();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 403) return error.message;
    if (error.status >= 500 || error.status === 401 || error.status === 429) throw error;
  }
  return null;
}

/** null if the session may use the operation, otherwise why not. Only for operations that check name or e-mail. */
const refusalOf = (id: SendId, params: Params) =>
  queryOptions({
    queryKey: ['refusalOf', id, ...Object.values(params)],
    staleTime: 60_000,
    queryFn: () => refusalTo(() => send(id, params, impossible)),
  });

/** null if the session may edit in an environment, otherwise why not. */
export const editRefusalIn = (environmentId: string) => refusalOf('editEnvironment', { environmentId });

/** null if the session may deploy in an environment, otherwise why not: no service at all is to be stopped. */
export const refusalIn = (environmentId: string) =>
  queryOptions({
    queryKey: ['refusal', environmentId],
    staleTime: 60_000,
    queryFn: ({ signal }) => refusalTo(() => api().call('stopSelectedServices', { params: { environmentId }, body: {}, signal })),
  });

/** Returns why the session may not use an operation; null while that is not known, or if it may. */
export function useRefusal(id: SendId, params: Params): string | null {
  const isComplete = Object.values(params).every((value) => value !== '');
  return useQuery({ ...refusalOf(id, params), enabled: isComplete }).data ?? null;
}
