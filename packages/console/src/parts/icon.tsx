import type { ReactNode } from 'react';

const paths = {
  home: 'M2.5 7L8 2.5 13.5 7v6.5h-11z',
  box: 'M8 2l5.5 3v6L8 14l-5.5-3V5zM2.5 5L8 8l5.5-3M8 8v6',
  search: 'M11.2 7a4.2 4.2 0 11-8.4 0 4.2 4.2 0 018.4 0zM10.2 10.2L14 14',
  down: 'M4 6l4 4 4-4',
  back: 'M6 4L2.5 7.5 6 11M2.5 7.5H10a3.5 3.5 0 013.5 3.5v1',
  lines: 'M3 4h10M3 8h10M3 12h6',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5l7 4.5-7 4.5z',
  download: 'M8 2.5v8M4.5 7.5L8 11l3.5-3.5M3 13.5h10',
  person: 'M8 8.2a2.7 2.7 0 100-5.4 2.7 2.7 0 000 5.4zM2.8 13.6c.7-2.3 2.7-3.4 5.2-3.4s4.5 1.1 5.2 3.4',
  people:
    'M6 7.8a2.3 2.3 0 100-4.6 2.3 2.3 0 000 4.6zM1.8 13c.5-2 2.1-3 4.2-3s3.7 1 4.2 3M10.6 3.4a2.2 2.2 0 010 4.2M12 10.2c1.2.4 2 1.3 2.3 2.8',
  mail: 'M2.5 4h11v8h-11zM2.5 4.5L8 8.7l5.5-4.2',
  key: 'M7.5 11a2.5 2.5 0 11-5 0 2.5 2.5 0 015 0zM7 9l6-6M11 5l1.5 1.5',
  davit: 'M4.5 14V5.5a3.5 3.5 0 017 0V7M11.5 7v3.2M9.3 10.2h4.4l-1 2.3h-2.4zM2.5 14h4.5',
  pen: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7L11.3 7',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5.2a2.5 2.5 0 015 0v2.3',
  broken: 'M3 3l10 10M13 3L3 13',
  empty: 'M2.5 9.5l2-6h7l2 6v4h-11zM2.5 9.5h3l1 1.5h3l1-1.5h3',
  APPLICATION: 'M3.5 3h9A1.5 1.5 0 0114 4.5v7a1.5 1.5 0 01-1.5 1.5h-9A1.5 1.5 0 012 11.5v-7A1.5 1.5 0 013.5 3zM2 6h12',
  CONTAINER: 'M8 2l5.5 3v6L8 14l-5.5-3V5zM2.5 5L8 8l5.5-3M8 8v6',
  DATABASE: 'M3 4c0-1.1 2.2-2 5-2s5 .9 5 2-2.2 2-5 2-5-.9-5-2zM3 4v8c0 1.1 2.2 2 5 2s5-.9 5-2V4M3 8c0 1.1 2.2 2 5 2s5-.9 5-2',
  JOB: 'M13.5 8a5.5 5.5 0 11-11 0 5.5 5.5 0 0111 0zM8 5v3l2 1.5',
  HELM: 'M12 8a4 4 0 11-8 0 4 4 0 018 0zM8 1.5V4M8 12v2.5M1.5 8H4M12 8h2.5M3.5 3.5l1.7 1.7M10.8 10.8l1.7 1.7M12.5 3.5l-1.7 1.7M5.2 10.8l-1.7 1.7',
  TERRAFORM: 'M2.5 3l4 2.3v4.6l-4-2.3zM7.5 5.8l4 2.3v4.6l-4-2.3zM12.5 8l2-1.2V2.3l-4 2.3v2.2',
} as const;

export type IconName = keyof typeof paths;
export const iconNames = Object.keys(paths).filter((name): name is IconName => name in paths);

/** A drawing beside a word. It means nothing by itself, so it is hidden from screen readers. */
export function Icon({ name, size = 15 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth={1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
