import type { ReactNode } from 'react';
import type { ReleaseChange } from '../../data/releases.ts';

const hidden = '••••••••';

function valueOf(value: string | null, isSecret: boolean): string {
  return isSecret ? hidden : (value ?? '');
}

/** Settings that differ, with both values side by side. */
export function ChangeTable({ changes }: { readonly changes: readonly ReleaseChange[] }): ReactNode {
  return (
    <table className="list compare">
      <thead>
        <tr>
          <th className="w-[30%]">Setting</th>
          <th>Before</th>
          <th>After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ path, kind, before, after, secret }) => (
          <tr key={path}>
            <td>
              <code>
                <bdi>{path}</bdi>
              </code>
            </td>
            <td className="broad-cell">
              {kind === 'ADDED' ? <span className="text-muted">none</span> : <Text look="minus" text={valueOf(before, secret)} />}
            </td>
            <td className="broad-cell">
              {kind === 'REMOVED' ? <span className="text-muted">none</span> : <Text look="plus" text={valueOf(after, secret)} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Text({ look, text }: { readonly look: 'minus' | 'plus'; readonly text: string }): ReactNode {
  return (
    <code className={look}>
      {look === 'minus' ? '− ' : '+ '}
      <bdi>{text === '' ? 'empty' : text}</bdi>
    </code>
  );
}
