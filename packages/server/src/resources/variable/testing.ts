import { randomUUID } from 'node:crypto';
import { ApiError, type Client } from '@davit/client';
import type { TestOrganization, TestServer } from '@davit/testkit/server';

/** A project with an environment and an application, and the tokens of their organization. */
export interface TestWorld {
  readonly organization: TestOrganization;
  readonly api: Client;
  readonly projectId: string;
  readonly environmentId: string;
  readonly applicationId: string;
}

export async function makeWorld(server: TestServer): Promise<TestWorld> {
  const organization = await server.organization();
  const api = server.client(organization.tokens.WRITE);
  const project = await api.call('createProject', { params: { organizationId: organization.id }, body: { name: 'shop' } });
  const params = { projectId: project.id };
  const environment = await api.call('createEnvironment', { params, body: { name: 'Production' } });
  const applicationId = await newApplication(api, environment.id);
  return { organization, api, projectId: project.id, environmentId: environment.id, applicationId };
}

export async function newApplication(api: Client, environmentId: string): Promise<string> {
  const body = { name: `shop ${randomUUID()}`, git_repository: { url: 'https://git.example.org/acme/shop.git', branch: 'main' } };
  return (await api.call('createApplication', { params: { environmentId }, body })).id;
}

/** Status, code and message of the error that a call ends with. */
export async function failure(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('the call succeeded');
}

/** Codes of what failed, and how many did not. */
export function outcomes(settled: readonly PromiseSettledResult<unknown>[]): { readonly done: number; readonly codes: string[] } {
  const codes = settled.flatMap((one) => {
    if (one.status === 'fulfilled') return [];
    if (one.reason instanceof ApiError) return [one.reason.code];
    throw one.reason;
  });
  return { done: settled.length - codes.length, codes };
}
