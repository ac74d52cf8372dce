import type { EventDefinition } from '#services/tag/src/types.ts';

/** A definition of a click that says nothing else than what is told here. */
export const definition = (told: Partial<EventDefinition>): EventDefinition => ({
  id: 'd',
  name: 'fired',
  trigger: 'click',
  selector: '',
  url_pattern: '',
  text_contains: '',
  properties: {},
  conversion_event: '',
  destinations: {},
  value_selector: '',
  field_selectors: {},
  enabled: true,
  ...told,
});
