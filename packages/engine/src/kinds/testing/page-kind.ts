import { DriverError } from '@davit/drivers';
import type { KeptService } from '../../keeper/kept-service.ts';
import type { Action, ReleaseConfig } from '../../model.ts';
import type { Steps } from '../../plan/plan.ts';
import { remove, unroute } from '../../steps/removal.ts';
import { configOf, noteDeployed, noteHere, outputOf, type Step, type StepContext, type StepOutput } from '../../steps/step.ts';
import type { Kind } from '../kind.ts';

/*
 * A kind of service that Davit does not have: a page on a shelf. The engine knows nothing of it but what is in this
 * file.
 */

declare module '../../model.ts' {
  interface ReleaseSources {
    readonly PAGE: PageSource;
  }
}

interface PageSource {
  readonly type: 'PAGE';
  readonly text: string;
}

/** The place outside of the engine where pages are shown. */
export interface Shelf {
  /** The text that each service shows. */
  readonly pages: Map<string, string>;
  /** The texts that were announced, in order. */
  readonly announced: string[];
  /** While true, no page can be announced. */
  isFull: boolean;
}

function textOf(config: Pick<ReleaseConfig, 'source'> | null): string | null {
  return config?.source.type === 'PAGE' ? config.source.text : null;
}

interface Put extends StepOutput {
  readonly length: number;
}

/** Creates the kind with the steps that change this shelf. */
export function createPageKind(shelf: Shelf): Kind {
  const show = (serviceId: string, text: string | null): void => {
    if (text === null) shelf.pages.delete(serviceId);
    else shelf.pages.set(serviceId, text);
  };

  const putPage: Step<Put> = {
    name: 'put-page',
    metric: 'DEPLOYMENT',
    deadlineSeconds: 10,
    cancelable: true,
    async run(context) {
      await noteHere(context);
      const text = textOf(configOf(context.task)) ?? '';
      show(context.task.serviceId, text);
      return { length: text.length };
    },
    undo: async ({ task, call }: StepContext) => {
      call.log('The former page is shown again.');
      show(task.serviceId, task.former?.desired === 'RUNNING' ? textOf(task.former.config) : null);
    },
  };

  const announce: Step = {
    name: 'announce',
    metric: 'ROUTER_DEPLOYMENT',
    deadlineSeconds: 10,
    cancelable: false,
    async run(context) {
      if (shelf.isFull) throw new DriverError({ cause: 'ENGINE_FAILED', message: 'the shelf is full' });
      await noteDeployed(context, { desired: 'RUNNING', runningStatus: 'RUNNING', instances: null });
      shelf.announced.push(`${textOf(configOf(context.task))}, ${outputOf(context.task, putPage)?.length} characters`);
      return {};
    },
  };

  const takePage: Step = {
    name: 'take-page',
    metric: 'DEPLOYMENT',
    deadlineSeconds: 10,
    cancelable: false,
    async run({ task }) {
      show(task.serviceId, null);
      return {};
    },
  };

  const steps = { 'put-page': putPage, announce, 'take-page': takePage, unroute, remove };
  const plans: Readonly<Record<Action, readonly (keyof typeof steps)[]>> = {
    DEPLOY: ['put-page', 'announce'],
    RESTART: [],
    STOP: ['unroute', 'take-page'],
    DELETE: ['unroute', 'take-page', 'remove'],
    UNINSTALL: ['unroute', 'take-page', 'remove'],
  };

  return {
    name: 'PAGE',
    serviceTypes: ['PAGE'],
    owns: (config) => textOf(config) !== null,
    steps,
    plan: (action): Steps<keyof typeof steps> => ({ build: [], deploy: plans[action] }),
    refusals: { RESTART: { reason: 'is a page, and nothing of it runs.', isLeftOut: false } },
    keep: async ({ service_id: id, desired, config }: KeptService) => {
      if (desired === 'RUNNING' && !shelf.pages.has(id)) show(id, textOf(config));
    },
    hasLastingInstances: false,
    hasOwnContainers: false,
    isServing: false,
    hasImage: false,
    isRedeployedWithoutImage: true,
    isExecuted: false,
    runsWhenTakenDown: false,
    variableWord: 'APPLICATION',
    credentials: () => ({ registry: null, gitTokens: [] }),
    values: () => [],
  };
}
