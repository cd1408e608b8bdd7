import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Face, FailedFace, LoadingRows } from './face.tsx';

export interface RecordColumn<Item> {
  readonly title: string;
  readonly width?: string;
  readonly cell: (record: Item) => ReactNode;
  /** Left out on a phone. */
  readonly isWideOnly?: true;
}

interface RecordsProps<Item> {
  readonly title: string;
  readonly query: UseQueryResult<readonly Item[]>;
  readonly columns: readonly RecordColumn<Item>[];
  readonly empty: { readonly title: string; readonly words: string };
  /** The words of the button that begins a new one. */
  readonly add?: { readonly words: string; readonly refusal: string | null; readonly onClick: () => void };
  readonly actions?: (record: Item) => ReactNode;
}

/** A box with the records of one kind: loading, failed, not allowed, empty, or a table. */
export function Records<Item extends { readonly id: string }>(props: RecordsProps<Item>): ReactNode {
  const { title, query, columns, empty, add, actions } = props;
  const { data, error } = query;
  return (
    <section className="box" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span className="under">{data?.length}</span>
        {add !== undefined && (
          <span className="more">
            <Button isSmall refusal={add.refusal} onClick={add.onClick}>
              {add.words}
            </Button>
          </span>
        )}
      </header>
      {data === undefined && error === null && <LoadingRows rows={2} />}
      {data === undefined && error !== null && <FailedFace error={error} onRetry={() => void query.refetch()} />}
      {data?.length === 0 && (
        <Face icon="empty" title={empty.title}>
          {empty.words}
        </Face>
      )}
      {data !== undefined && data.length > 0 && (
        <table className="list records">
          <thead>
            <tr>
              {columns.map(({ title: head, width }) => (
                <th key={head} {...(width !== undefined && { style: { width } })}>
                  {head}
                </th>
              ))}
              {actions !== undefined && (
                <th className="w-[200px]">
                  <span className="sr-only">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {data.map((record) => (
              <tr key={record.id}>
                {columns.map((column) => (
                  <td key={column.title} className={column.isWideOnly === true ? 'wide-only' : ''}>
                    {column.cell(record)}
                  </td>
                ))}
                {actions !== undefined && (
                  <td className="do">
                    <div className="row-do">{actions(record)}</div>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
