import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';

const routePixelSchema = Type.Object({
  pixel_id: Type.String({ pattern: '^[0-9]{5,20}$' }),
  url_pattern: Type.String({ minLength: 1, maxLength: 1000 }),
});
/** A Meta pixel that takes the place of the site's own on pages that match. */
export type RoutePixel = Static<typeof routePixelSchema>;

const validator = Compile(Type.Array(routePixelSchema, { maxItems: 50 }));

/** Reads the setting `route_pixels` of a meta destination, a JSON array; empty text is none. Null when malformed. */
export function readRoutePixels(text: string): RoutePixel[] | null {
  if (text === '') return [];
  try {
    const value: unknown = JSON.parse(text);
    return validator.Check(value) ? value.map(({ pixel_id, url_pattern }) => ({ pixel_id, url_pattern })) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
