import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { Definition } from '#pipelines/engage/definition_problems.ts';
import { SelectField } from '../../ui/form_fields.tsx';
import { drawPreview } from './preview_frame.ts';
import { languagesOf, previewItem } from './preview_item.ts';

interface PreviewProps {
  kind: EngageKind;
  /** Null: it cannot be drawn as it is typed now; the last that could be stays. */
  drawable: Definition | null;
  look: Look;
  onRestart(): void;
}

/** What of a definition is looked at. */
export interface Look {
  /** The question that is worked on. */
  at: number;
  /** How often it was begun anew since then; 0: it begins with that question. */
  times: number;
}

/** What a visitor sees of a definition, drawn by the code that draws it for visitors. */
export function Preview({ kind, drawable, look: { at, times }, onRestart }: PreviewProps): VNode {
  const pane = useRef<HTMLDivElement>(null);
  const last = useRef(drawable);
  if (drawable !== null) last.current = drawable;
  const shown = last.current;
  const [locale, setLocale] = useState('');
  const [isClosed, setClosed] = useState(false);
  const languages = shown === null ? [] : languagesOf(shown);
  const language = languages.includes(locale) ? locale : (languages[0] ?? '');
  const item = shown === null ? null : previewItem(kind, shown, language);
  useEffect(() => {
    if (pane.current === null || item === null) return;
    const first = 'questions' in item.content && times === 0 ? Math.min(at, item.content.questions.length - 1) : 0;
    setClosed(false);
    drawPreview(pane.current, item, first, () => {
      pane.current?.replaceChildren();
      setClosed(true);
    });
  }, [JSON.stringify(item), at, times]);
  return (
    <section class="preview" aria-label="Preview">
      <div class="preview-head">
        <h3>Preview</h3>
        <button type="button" class="button small" onClick={onRestart}>
          From the beginning
        </button>
      </div>
      {languages.length > 1 && (
        <SelectField
          label="Language"
          value={language}
          options={languages.map((value) => ({ value, label: value }))}
          onValue={setLocale}
        />
      )}
      <div class="preview-pane" ref={pane} />
      {isClosed && <p class="muted small">The visitor has closed it.</p>}
      {drawable === null && (
        <p class="muted small">
          Some fields cannot be shown as they are now.{shown !== null && ' What you see is how it was before.'}
        </p>
      )}
      <p class="hint">Nothing that is filled in here is sent. Links lead nowhere, and a grey picture stands for one.</p>
    </section>
  );
}
