import type { ComponentChildren, VNode } from 'preact';
import { useId, useRef } from 'preact/hooks';

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
export function Tabs({ label, tabs, chosen, onChosen }: TabsProps): VNode {
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
