import { type Static, Type } from 'typebox';
import { nullable, timeField } from './fields.ts';

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const volume = (description: string) =>
  Type.Object(
    {
      now: count('Events until now'),
      usual: nullable(count('In the same time of earlier days, the median; null while too little is known')),
    },
    { description },
  );

const definitionHealth = Type.Object({
  id: Type.String(),
  name: Type.String(),
  state: Type.Enum(['firing', 'quiet', 'stopped', 'never_fired'], {
    description:
      'quiet: not for 3 of its usual gaps, at least an hour; stopped: not for 10, at least a day; firing also while it has fired too seldom to know its gap',
  }),
  fired: count('How often it fired since it is watched'),
  last_fired_at: nullable(timeField('When it last fired')),
  usual_gap_ms: nullable(count('Mean time between its recent firings')),
});
export type DefinitionHealth = Static<typeof definitionHealth>;

/** How the tag of a site does. */
export const tagHealthShape = Type.Object({
  site_id: Type.String(),
  state: Type.Enum(['never', 'new', 'receiving', 'quiet'], {
    description:
      'By events from browsers. quiet: less than a fifth of a usual day, or a tenth of a usual hour; new: known for too short a time to say what is usual; never: no event is known',
  }),
  last_event_at: nullable(timeField('When a browser last sent an event')),
  known_since: nullable(timeField('From when on events are counted; Redis forgets when it is emptied')),
  last_hour: volume('Of the last 60 minutes'),
  last_day: volume('Of the last 24 hours'),
  pages: Type.Array(Type.Object({ page: Type.String(), last_event_at: timeField('When it last sent an event') }), {
    description: 'Host and path of the pages that sent last, at most 200, the newest first',
  }),
  definitions: Type.Array(definitionHealth, { description: 'Event definitions that are enabled' }),
  reported: Type.Object(
    {
      retried: count('Requests that came to nothing at first'),
      dropped: count('Events that a browser could not keep until they were sent'),
      rejected: count('Events that the edge refused'),
      blocked: count("Requests that a page's content security policy forbade"),
    },
    { description: 'What tags counted themselves, of the last 7 days' },
  ),
});
export type TagHealthItem = Static<typeof tagHealthShape>;
