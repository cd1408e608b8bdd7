import type { StepName } from '../plan/plan.ts';
import { build } from './build.ts';
import { checkout } from './checkout.ts';
import * as helm from './helm.ts';
import { arm, clear, complete, launch } from './job.ts';
import { pull } from './pull.ts';
import { remove, stop, unroute } from './removal.ts';
import { resolve } from './resolve.ts';
import { halt, ready, retire, route, start } from './rollout.ts';
import type { Step } from './step.ts';
import * as terraform from './terraform.ts';

export const steps: Readonly<Record<StepName, Step>> = {
  resolve,
  checkout,
  build,
  pull,
  halt,
  start,
  ready,
  route,
  retire,
  unroute,
  stop,
  remove,
  launch,
  complete,
  clear,
  arm,
  obtain: terraform.obtain,
  'terraform-plan': terraform.terraformPlan,
  'terraform-apply': terraform.terraformApply,
  settle: terraform.settle,
  destroy: terraform.destroy,
  forget: terraform.forget,
  unlock: terraform.unlock,
  migrate: terraform.migrate,
  'obtain-chart': helm.obtainChart,
  install: helm.install,
  'settle-chart': helm.settleChart,
  diff: helm.diff,
  'halt-chart': helm.haltChart,
  uninstall: helm.uninstall,
};

export type { Step, StepContext, Task } from './step.ts';
