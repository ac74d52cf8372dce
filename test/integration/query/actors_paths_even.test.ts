import { pathListsSuite } from './world_lists.ts';

pathListsSuite('even');
