import { pathListsSuite } from './world_lists.ts';

pathListsSuite('uneven');
