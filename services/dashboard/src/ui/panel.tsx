import { type ComponentChildren, Fragment } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { type ApiError, mayPass, sentenceOf } from '../api/request.ts';
import type { Asked } from '../api/use_answer.ts';
import { number } from '../format.ts';
import { Button, Icon } from './button.tsx';

interface PanelProps {
  title: string;
  /** Beside the title: buttons, links. */
  actions?: ComponentChildren;
  /** Below the title: what the numbers are, in a sentence. */
  note?: ComponentChildren;
  children: ComponentChildren;
}

export function Panel({ title, actions, note, children }: PanelProps) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="row panel-head">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div class="row">{actions}</div>}
      </div>
      {note !== undefined && <p class="muted small panel-note">{note}</p>}
      {children}
    </section>
  );
}

interface Tab {
  id: string;
  label: string;
  /** Whether what was typed in it stays when another is looked at. */
  keeps?: boolean;
  content: () => ComponentChildren;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  chosen: string;
  onChosen(id: string): void;
}

/** Several views of one thing, of which one is shown. The arrow keys choose among them. */
export function Tabs({ label, tabs, chosen, onChosen }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const at = Math.max(
    0,
    tabs.findIndex((tab) => tab.id === chosen),
  );
  const seen = useRef(new Set<string>()).current;
  const current = tabs[at];
  if (current !== undefined) seen.add(current.id);
  const isThere = (tab: Tab): boolean => tab === current || (tab.keeps === true && seen.has(tab.id));
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: at + 1,
    ArrowLeft: at - 1,
    Home: 0,
    End: tabs.length - 1,
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    const next = step === undefined ? undefined : tabs.at(step % tabs.length);
    if (next === undefined) return;
    event.preventDefault();
    onChosen(next.id);
    list.current?.querySelector<HTMLElement>(`#${CSS.escape(`${id}${next.id}`)}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map((tab, index) => (
          <button
            key={tab.id}
            id={`${id}${tab.id}`}
            type="button"
            role="tab"
            class="tab"
            aria-selected={index === at}
            {...(isThere(tab) && { 'aria-controls': `${id}${tab.id}panel` })}
            tabIndex={index === at ? 0 : -1}
            onClick={() => onChosen(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      {tabs.filter(isThere).map((tab) => (
        <div
          key={tab.id}
          id={`${id}${tab.id}panel`}
          role="tabpanel"
          aria-labelledby={`${id}${tab.id}`}
          hidden={tab !== current}
        >
          {tab.content()}
        </div>
      ))}
    </div>
  );
}

export const Loading = ({ lines = 3, label = 'Loading' }: { lines?: number; label?: string }) => (
  <div class="loading" role="status" aria-label={label}>
    {Array.from({ length: lines }, (_, at) => (
      <span class="skeleton" key={at} />
    ))}
  </div>
);

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children !== undefined && <div class="muted">{children}</div>}
  </div>
);

interface FailureNoteProps {
  /** Null: nothing did. */
  failure: ApiError | null;
  again?: (() => void) | undefined;
}

/** Says what failed, and offers to ask again where that may help. */
export function FailureNote({ failure, again }: FailureNoteProps) {
  if (failure === null) return null;
  return (
    <div class="note note-bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>{sentenceOf(failure)}</p>
        {failure.problems.length > 0 && (
          <ul>
            {failure.problems.map(({ field, message }) => (
              <li key={`${field} ${message}`}>
                <code>{field}</code> {message}
              </li>
            ))}
          </ul>
        )}
        <p class="muted small">
          Code <code>{failure.code}</code>
        </p>
      </div>
      {again !== undefined && mayPass(failure) && <Button kind="small" label="Retry" onClick={again} />}
    </div>
  );
}

interface ShownProps<Value> {
  asked: Asked<Value>;
  lines?: number;
  children: (value: Value) => ComponentChildren;
}

/** Shows an answer, room for it while it is awaited, or why there is none; an older answer stays beside the reason. */
export function Shown<Value>({ asked, lines = 3, children }: ShownProps<Value>) {
  const { value, failure, again } = asked;
  return (
    <div aria-busy={asked.asks} class={asked.isOld ? 'old' : ''}>
      <FailureNote failure={failure} again={again} />
      {value === null ? failure === null && <Loading lines={lines} /> : children(value)}
    </div>
  );
}

export type BadgeKind = 'plain' | 'good' | 'warn' | 'bad';

/** What a state is called, and how it looks. */
export type StateLook = { label: string; badge: BadgeKind };

/** A state in a word; its colour says no more than the word does. */
export const Badge = ({ kind = 'plain', children }: { kind?: BadgeKind; children: ComponentChildren }) => (
  <span class={kind === 'plain' ? 'badge' : `badge badge-${kind}`}>{children}</span>
);

export const StateBadge = ({ of: { label, badge } }: { of: StateLook }) => <Badge kind={badge}>{label}</Badge>;

/** A fact and what it is called; one that is not known or does not apply may stand among others as false or null. */
export type Fact = readonly [name: string, text: ComponentChildren] | false | null;

export const Facts = ({ facts, class: more = '' }: { facts: readonly Fact[]; class?: string }) => (
  <dl class={`facts ${more}`}>
    {facts.map(
      (fact) =>
        fact && (
          <Fragment key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </Fragment>
        ),
    )}
  </dl>
);

interface Bar {
  key: string;
  name: ComponentChildren;
  /** Of the whole width. */
  share: number;
  count: number;
  /** A figure beside the count, and what it says for whoever does not see the head of its column. */
  more?: { text: string; says: string };
}

export const Bars = ({ bars, class: more = '' }: { bars: readonly Bar[]; class?: string }) => (
  <ol class={`bars ${more}`}>
    {bars.map(({ key, name, share, count, more: figure }) => (
      <li key={key} style={{ '--share': `${(share * 100).toFixed(1)}%` }}>
        {name}
        <span>{number(count)}</span>
        {figure !== undefined && (
          <span class="bar-more muted">
            {figure.text} <span class="hidden">{figure.says}</span>
          </span>
        )}
      </li>
    ))}
  </ol>
);
