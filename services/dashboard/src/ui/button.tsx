/** Outlines on a grid of 24, drawn in the colour of the text. */
const PATHS = {
  gauge: 'M4 18a8 8 0 1 1 16 0M12 18l4-6',
  pulse: 'M3 12h4l3-7 4 14 3-7h4',
  people:
    'M16 19v-1a4 4 0 0 0-4-4H7a4 4 0 0 0-4 4v1M9.5 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6M21 19v-1a4 4 0 0 0-3-3.9M16 4.2a3 3 0 0 1 0 5.6',
  group: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12M15 21a6 6 0 1 0 0-12 6 6 0 0 0 0 12',
  funnel: 'M4 5h16l-6 8v5l-4 2v-7z',
  trend: 'M4 18 10 12l4 3 6-8M20 7v5M20 7h-5',
  grid: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  path: 'M6 5v8a4 4 0 0 0 4 4h8M14 13l4 4-4 4',
  send: 'M21 4 3 11l7 3 3 7z',
  inbox: 'M4 13h4l2 3h4l2-3h4M4 13l3-8h10l3 8v6H4z',
  replay: 'M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4',
  tag: 'M4 4h8l8 8-8 8-8-8zM8.5 8.5h.01',
  message: 'M4 5h16v11H9l-5 4z',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18',
  key: 'M14.5 9.5a3.5 3.5 0 1 0 0 .01M12 12l-8 8v-3h3v-3h3',
  plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 20a8 8 0 0 1 16 0',
  shield: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.500-1-8-4-8-9V6z',
  server: 'M4 5h16v5H4zM4 14h16v5H4zM8 7.500h.01M8 16.500h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4',
  close: 'M6 6l12 12M18 6L6 18',
  wide: 'M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5',
  plus: 'M12 5v14M5 12h14',
  up: 'M6 15l6-6 6 6',
  grip: 'M9 6h.01M9 12h.01M9 18h.01M15 6h.01M15 12h.01M15 18h.01',
  board: 'M4 4h16v16H4zM4 10h16M11 10v10',
  down: 'M6 9l6 6 6-6',
  check: 'M5 12l5 5 9-10',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 5l12 7-12 7z',
  warning: 'M12 4 2.500 20h19zM12 10v5M12 17.500h.01',
  calendar: 'M4 6h16v14H4zM4 10h16M8 3v4M16 3v4',
} as const;
export type IconName = keyof typeof PATHS;

/** A picture beside a text that says the same; those who listen do not hear it. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={PATHS[name]} />
  </svg>
);

interface IconButtonProps {
  icon: IconName;
  /** What the button does: read out, and shown to the pointer. */
  label: string;
  isSmall?: boolean;
  disabled?: boolean;
  onClick(): void;
}

/** A button that shows an icon alone. The icon's name is also in `data-name`, where the focus is moved to the same button of another row. */
export const IconButton = ({ icon, label, isSmall = false, disabled = false, onClick }: IconButtonProps) => (
  <button
    type="button"
    class={isSmall ? 'button icon-only small' : 'button icon-only'}
    data-name={icon}
    aria-label={label}
    title={label}
    disabled={disabled}
    onClick={onClick}
  >
    <Icon name={icon} />
  </button>
);

/** How a button looks; null: like most. */
export type ButtonKind =
  | ('primary' | 'danger' | 'small' | 'wide' | 'small danger' | 'small quiet' | 'quiet wide' | 'primary wide')
  | null;

interface ButtonProps {
  label: string;
  icon?: IconName;
  kind?: ButtonKind;
  type?: 'button' | 'submit';
  disabled?: boolean;
  /** What those who listen hear in place of the label. */
  'aria-label'?: string;
  'aria-pressed'?: boolean;
  onClick?(): unknown;
}

export const Button = ({ label, icon, kind = null, type = 'button', ...rest }: ButtonProps) => (
  <button type={type} class={kind === null ? 'button' : `button ${kind}`} {...rest}>
    {icon !== undefined && <Icon name={icon} />}
    {label}
  </button>
);

interface FigureLinkProps {
  text: string;
  label: string;
  /** Left out: there is nothing behind the figure. */
  act: (() => unknown) | undefined;
}

export function FigureLink({ text, label, act }: FigureLinkProps) {
  if (act === undefined) return <>{text}</>;
  return (
    <button type="button" class="figure-link" aria-label={label} onClick={act}>
      {text}
    </button>
  );
}
