import { useRef } from 'preact/hooks';
import { idOf } from '../new_site/new_site_draft.ts';
import { type Path, pathName, textAt, withValue } from './definition_json.ts';
import { withNames } from './definition_names.ts';
import type { DefinitionTabProps } from './dialog_parts.ts';
import { textOf } from './engage_item.ts';

/** How fields change a definition. @param typed As it is now. */
export function useSetter({ item, form }: Pick<DefinitionTabProps, 'item' | 'form'>, typed: object) {
  const last = useRef({ name: '', before: typed, text: '' });
  return (path: Path, value: unknown): void => {
    const name = pathName(path);
    // An id may be that of another item on the way to the one that somebody types: its texts go along from where it began.
    const isMore = last.current.name === name && last.current.text === form.draft.text;
    const before = isMore ? last.current.before : typed;
    const changed = withNames(before, path, value);
    const follows = item === null && name === 'name' && textAt(typed, ['id']) === idOf(textAt(typed, ['name']));
    const text = textOf(follows ? withValue(changed, ['id'], idOf(String(value))) : changed);
    last.current = { name, before, text };
    form.edit({ text });
  };
}
