import { randomUUID } from 'node:crypto';
import { ApiError, type Client } from '@davit/client';
import { makeTestEnvironment, type TestEnvironment } from '@davit/testkit/running-server';
import type { TestServer } from '@davit/testkit/server';

/** A project with an environment and an application, and the tokens of their organization. */
export interface TestVariables extends TestEnvironment {
  readonly applicationId: string;
}

export async function makeTestVariables(server: TestServer): Promise<TestVariables> {
  const environment = await makeTestEnvironment(server);
  return { ...environment, applicationId: await newApplication(environment.api, environment.environmentId) };
}

export async function newApplication(api: Client, environmentId: string): Promise<string> {
  const body = {
    name: `shop ${randomUUID()}`,
    dockerfile_path: 'Dockerfile',
    git_repository: { url: 'https://git.example.org/acme/shop.git', branch: 'main' },
  };
  return (await api.call('createApplication', { params: { environmentId }, body })).id;
}

/** Returns status, code and message of the error that a call fails with. */
export async function failure(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return `${error.status} ${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('the call succeeded');
}

/** Returns the error codes of failed calls, and the number of successful calls. */
export function outcomes(settled: readonly PromiseSettledResult<unknown>[]): { readonly done: number; readonly codes: string[] } {
  const codes = settled.flatMap((one) => {
    if (one.status === 'fulfilled') return [];
    if (one.reason instanceof ApiError) return [one.reason.code];
    throw one.reason;
  });
  return { done: settled.length - codes.length, codes };
}
