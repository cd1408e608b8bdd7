import { useId, type ReactNode } from 'react';
import { isList, numberOf, valueAt, withValueAt, type Json } from '../data/paths.ts';

interface ProbeControlProps {
  readonly label: string;
  readonly value: Json;
  readonly isReadOnly: boolean;
  readonly onChange: (value: Json) => void;
}

const kinds = { none: 'None', http: 'HTTP', tcp: 'TCP', grpc: 'gRPC', exec: 'Command' } as const;
type Kind = keyof typeof kinds;
const blanks: Readonly<Record<Exclude<Kind, 'none'>, Json>> = {
  http: { path: '/', port: 8080 },
  tcp: { port: 8080 },
  grpc: { port: 8080 },
  exec: { command: [] },
};
const times = [
  ['initial_delay_seconds', 'First after', 's', '30'],
  ['period_seconds', 'Every', 's', '10'],
  ['timeout_seconds', 'Time limit', 's', '5'],
  ['failure_threshold', 'Fails after', 'times', '9'],
  ['success_threshold', 'Succeeds after', 'times', '1'],
] as const;
const isKind = (text: string): text is Kind => text in kinds;

/** A probe: how it asks, and when it counts as failed. */
export function ProbeControl({ label, value, isReadOnly, onChange }: ProbeControlProps): ReactNode {
  const id = useId();
  const kind = kindOf(value);
  const number = (path: string, words: string, unit = '', byDefault = ''): ReactNode => (
    <label key={path}>
      <span>{words}</span>
      <span className="with-unit">
        <input
          className="input"
          inputMode="numeric"
          aria-label={`${label}: ${words}`}
          placeholder={byDefault}
          readOnly={isReadOnly}
          value={textAt(value, path)}
          onChange={({ target }) => onChange(withValueAt(value, path, numberOf(target.value)))}
        />
        {unit !== '' && <span className="text-muted">{unit}</span>}
      </span>
    </label>
  );
  return (
    <div className="probe" role="group" aria-label={label}>
      <label htmlFor={id}>
        <span>Kind</span>
        <select
          id={id}
          className="input"
          aria-label={`${label}: kind`}
          value={kind}
          disabled={isReadOnly}
          onChange={({ target }) => onChange(withKind(value, isKind(target.value) ? target.value : 'none'))}
        >
          {Object.entries(kinds).map(([one, words]) => (
            <option key={one} value={one}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {kind !== 'none' && kind !== 'exec' && number(`type.${kind}.port`, 'Port')}
      {kind === 'http' && <TextAt {...{ label, value, isReadOnly, onChange }} path="type.http.path" words="Path" />}
      {kind === 'exec' && <Command {...{ label, value, isReadOnly, onChange }} />}
      {kind !== 'none' && times.map(([name, words, unit, byDefault]) => number(name, words, unit, byDefault))}
    </div>
  );
}

function TextAt({
  label,
  value,
  isReadOnly,
  onChange,
  path,
  words,
}: ProbeControlProps & { readonly path: string; readonly words: string }): ReactNode {
  return (
    <label>
      <span>{words}</span>
      <input
        className="input mono"
        aria-label={`${label}: ${words}`}
        readOnly={isReadOnly}
        value={textAt(value, path)}
        onChange={({ target }) => onChange(withValueAt(value, path, target.value))}
      />
    </label>
  );
}

function Command({ label, value, isReadOnly, onChange }: ProbeControlProps): ReactNode {
  const command = valueAt(value, 'type.exec.command');
  return (
    <label className="grow">
      <span>Command, one argument a line</span>
      <textarea
        className="input mono"
        rows={3}
        aria-label={`${label}: command`}
        readOnly={isReadOnly}
        value={isList(command) ? command.map(String).join('\n') : ''}
        onChange={({ target }) => onChange(withValueAt(value, 'type.exec.command', target.value.split('\n')))}
      />
    </label>
  );
}

function kindOf(probe: Json): Kind {
  for (const kind of ['http', 'tcp', 'grpc', 'exec'] as const) {
    const found = valueAt(probe, `type.${kind}`);
    if (found !== undefined && found !== null) return kind;
  }
  return 'none';
}

function withKind(probe: Json, kind: Kind): Json {
  return kind === 'none' ? null : withValueAt(probe, 'type', { [kind]: blanks[kind] });
}

function textAt(probe: Json, path: string): string {
  const value = valueAt(probe, path);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
