import { ApiError } from '@davit/client';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

interface FaceProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  /** Whether the face takes the place of a whole page, whose heading it then has. */
  readonly isPage?: boolean;
}

/** A page or a box without its content: empty, failed, or not allowed. */
export function Face({ icon, title, children, action, isPage }: FaceProps): ReactNode {
  const Heading = isPage === true ? 'h1' : 'h2';
  return (
    <div className="face">
      <Icon name={icon} size={20} />
      <Heading>{title}</Heading>
      <p>{children}</p>
      {action !== undefined && <div className="do">{action}</div>}
    </div>
  );
}

interface FailedFaceProps {
  readonly error: Error;
  readonly onRetry?: () => void;
  readonly isPage?: boolean;
}

/** Why something could not be read. */
export function FailedFace({ error, onRetry, isPage = false }: FailedFaceProps): ReactNode {
  if (error instanceof ApiError && error.status === 403) {
    return (
      <Face icon="lock" title="Not allowed" isPage={isPage}>
        {error.message}
      </Face>
    );
  }
  if (error instanceof ApiError && error.status === 404) {
    return (
      <Face icon="empty" title="Not found" isPage={isPage}>
        {error.message}
      </Face>
    );
  }
  const isAnswer = error instanceof ApiError;
  const retry = onRetry === undefined ? {} : { action: <Button onClick={onRetry}>Try again</Button> };
  return (
    <Face
      icon="broken"
      title={isAnswer ? 'The server could not do this' : 'The server does not answer'}
      isPage={isPage}
      {...retry}
    >
      {isAnswer ? `${error.message} (${error.code})` : 'What is shown here is read again as soon as the connection is back.'}
    </Face>
  );
}

const widths = ['w-1/4', 'w-1/3', 'w-1/5', 'w-2/5'];

/** The place of rows that are being read. Nothing moves in it. */
export function LoadingRows({ rows = 4 }: { readonly rows?: number }): ReactNode {
  return (
    <div className="px-4 py-2" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- the bones have no identity beside their place
        <div key={index} className="h-[51px] pt-2">
          <span className={`bone ${widths[index % widths.length]}`} />
        </div>
      ))}
    </div>
  );
}

/** The answer to an action that failed, beside the buttons. */
export function ErrorNote({ error }: { readonly error: Error | null }): ReactNode {
  if (error === null) return null;
  return (
    <div className="note bad" role="alert">
      <span>
        <b>{error instanceof ApiError ? error.message : 'The server does not answer.'}</b>
        {error instanceof ApiError && error.errors.map(({ path, message }) => <div key={path}>{`${path}: ${message}`}</div>)}
      </span>
    </div>
  );
}
