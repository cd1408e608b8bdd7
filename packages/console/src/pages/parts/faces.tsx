import type { ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Box } from '../../parts/page.tsx';
import { Verdict } from '../../parts/verdict.tsx';
import { broken, conflict, failure, forbidden, invalid, missing } from './sample.ts';

/** Failures that explain themselves, and boxes without their content. */
export function Faces(): ReactNode {
  return (
    <>
      <Verdict
        failure={failure}
        changed="version  9d02e11   unchanged"
        now="3 of 3 instances are running: requests are still answered."
        actions={<Button>Try again</Button>}
      />
      <Verdict
        failure={{ ...failure, message: 'Memory: 480 of 512 MiB.', code: 'MEMORY', evidence: {} }}
        isWarning
        now="Seen 3 times."
      />
      <ErrorNote error={conflict} />
      <ErrorNote error={invalid} />
      <Box title="Faces">
        <LoadingRows rows={2} />
        <Face icon="empty" title="No services yet" action={<Button>New service</Button>}>
          What to do about it, in one sentence.
        </Face>
        <FailedFace error={forbidden} />
        <FailedFace error={missing} />
        <FailedFace error={broken} onRetry={() => undefined} />
        <FailedFace error={new TypeError('no answer')} onRetry={() => undefined} />
      </Box>
    </>
  );
}
