import { Fragment, type ReactNode } from 'react';
import { Cut } from '../parts/page.tsx';
import { State } from '../parts/state.tsx';
import { duration, milliseconds, useNow } from '../time.ts';
import { isUnderWay, sentence, shapeOf, type Deployment, type ServiceStatus, type Shape } from '../words.ts';

/** Whose lines the log shows: one service's, or all. */
export interface Selection {
  readonly serviceId: string | null;
  readonly name: string;
}

interface StepsProps {
  readonly deployment: Deployment;
  readonly statuses: ReadonlyMap<string, ServiceStatus>;
  readonly selection: Selection;
  readonly onSelect: (selection: Selection) => void;
}

interface Bar {
  readonly from: number;
  readonly to: number;
}

type ServiceOfDeployment = Deployment['stages'][number]['services'][number];
type Step = NonNullable<ServiceStatus['steps']>['details'][number];

/** Stages, services and steps on one axis of time. A click on a service shows its lines. */
export function Steps({ deployment, statuses, selection, onSelect }: StepsProps): ReactNode {
  const bars = barsOf(deployment, useNow());
  const start = Date.parse(deployment.auditing_data.created_at);
  const end = Math.max(start + 1, ...[...bars.values()].map(({ to }) => to));
  const isRunning = isUnderWay(deployment.status);
  return (
    <div className="axis">
      <div className="ticks" aria-hidden="true">
        <div />
        <div>
          {[0, 0.5, 1].map((part) => (
            <span key={part}>{duration((end - start) * part)}</span>
          ))}
        </div>
        <div />
      </div>
      {deployment.stages.map((stage) => (
        <Fragment key={stage.name}>
          <div className="step group">
            <Cut text={stage.name} />
            <span />
            <span className="d">{isRunning ? '' : duration(milliseconds(stage.duration))}</span>
          </div>
          {stage.services.map((service) => {
            const { service_id: serviceId, execution_id: executionId, name } = service.identifier;
            const status = statuses.get(serviceId);
            const isSelected = selection.serviceId === serviceId;
            return (
              <ServiceSteps
                key={serviceId}
                service={service}
                steps={status?.execution_id === executionId ? (status?.steps?.details ?? []) : []}
                bar={bars.get(serviceId) ?? { from: start, to: start }}
                axis={{ from: start, to: end }}
                isSelected={isSelected}
                onSelect={() => onSelect(isSelected ? { serviceId: null, name: 'All lines' } : { serviceId, name })}
              />
            );
          })}
        </Fragment>
      ))}
    </div>
  );
}

/** Returns when each service was worked on. A service that is under way ends now. */
function barsOf({ stages, auditing_data: audit }: Deployment, now: number): Map<string, Bar> {
  const start = Date.parse(audit.created_at);
  const bars = new Map<string, Bar>();
  let ended = start;
  for (const { services } of stages) {
    const ofStage = services.map(({ identifier, status, auditing_data: own, total_duration: total }) => {
      // A service that is under way has no duration yet: its stage began when the one before it ended.
      const isGoing = shapeOf(status) === 'go';
      const to = isGoing ? Math.max(now, ended) : Date.parse(own.updated_at);
      return { id: identifier.service_id, from: isGoing ? ended : Math.max(start, to - milliseconds(total)), to };
    });
    for (const { id, from, to } of ofStage) bars.set(id, { from, to });
    ended = Math.max(ended, ...ofStage.map(({ to }) => to));
  }
  return bars;
}

interface ServiceStepsProps {
  readonly service: ServiceOfDeployment;
  readonly steps: readonly Step[];
  readonly bar: Bar;
  readonly axis: Bar;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

function ServiceSteps({ service, steps, bar, axis, isSelected, onSelect }: ServiceStepsProps): ReactNode {
  const shape = shapeOf(service.status);
  const position = ({ from, to }: Bar) => ({
    left: `${(100 * (from - axis.from)) / (axis.to - axis.from)}%`,
    width: `${(100 * Math.max(0, to - from)) / (axis.to - axis.from)}%`,
  });
  return (
    <>
      <button type="button" className="step" aria-pressed={isSelected} onClick={onSelect}>
        <span className="state sub">
          <State shape={shape} />
          <span className="sr-only">{sentence(service.status)}: </span>
          <Cut text={service.identifier.name} />
        </span>
        <span className="t" title={sentence(service.status)}>
          {shape !== 'wait' && <i className={barClasses[shape]} style={position(bar)} />}
        </span>
        <span className="d">{shape === 'wait' ? '–' : duration(bar.to - bar.from)}</span>
      </button>
      {stepBars(steps, bar.to, axis.from).map(({ step, length, bar: own }) => (
        <div key={step.step_name} className="step">
          <span className={`state subsub s-${stepShape(step)}`}>
            <State shape={stepShape(step)} />
            <Cut text={sentence(step.step_name ?? '')} />
          </span>
          <span className="t">
            <i className={isWaiting(step) ? 'off' : barClasses[stepShape(step)]} style={position(own)} />
          </span>
          <span className="d">{step.status === 'SKIP' ? 'skipped' : duration(length)}</span>
        </div>
      ))}
    </>
  );
}

const barClasses: Readonly<Record<Shape, string>> = { ok: '', go: 'go', wait: 'off', warn: 'bad', bad: 'bad', off: 'off' };

/** Returns whether the step waited for its turn: nothing was worked on. */
function isWaiting({ step_name: name }: Step): boolean {
  return name?.endsWith('QUEUEING') === true;
}

function stepShape({ status }: Step): Shape {
  if (status === 'ERROR') return 'bad';
  if (status === 'SUCCESS') return 'ok';
  return status === undefined ? 'go' : 'off';
}

interface StepBar {
  readonly step: Step;
  /** Milliseconds that the step took. */
  readonly length: number;
  readonly bar: Bar;
}

/** Returns the steps of a service one after the other, so that the last one ends with its service. */
function stepBars(steps: readonly Step[], to: number, start: number): StepBar[] {
  const lengthOf = ({ duration_ms: exact, duration_sec: seconds = 0 }: Step): number => exact ?? seconds * 1000;
  const total = steps.reduce((sum, step) => sum + lengthOf(step), 0);
  let at = to - total;
  return steps.map((step) => {
    const length = lengthOf(step);
    at += length;
    return { step, length, bar: { from: Math.max(start, at - length), to: Math.max(start, at) } };
  });
}
