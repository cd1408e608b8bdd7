import { never } from '@davit/base';
import type { Action } from '../../model.ts';
import type { Steps, StepsInput } from '../../plan/plan.ts';
import { needsHalt } from '../../workload/needs-halt.ts';
import { planImage, type ImageStep } from '../image-plan.ts';

export type ProcessStep = ImageStep | 'halt' | 'start' | 'ready' | 'route' | 'retire' | 'unroute' | 'stop' | 'remove';

export function planProcess(action: Action, input: StepsInput): Steps<ProcessStep> {
  switch (action) {
    case 'DEPLOY':
    case 'RESTART': {
      const image = planImage(action, input);
      const halt = input.config !== null && needsHalt(input.config) ? (['halt'] as const) : [];
      return { build: image.build, deploy: [...image.deploy, ...halt, 'start', 'ready', 'route', 'retire'] };
    }
    case 'STOP':
      return { build: [], deploy: ['unroute', 'stop'] };
    case 'DELETE':
    case 'UNINSTALL':
      return { build: [], deploy: ['unroute', 'stop', 'remove'] };
    default:
      return never(action);
  }
}
