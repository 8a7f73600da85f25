import { ALL, type Answer } from '../machine.js';

export const blocked = (says: string): Answer => ({ kind: 'blocked', says });
export const clear = (says: string, most = ALL): Answer => ({ kind: 'clear', most, says });
export const hopeless = (says: string): Answer => ({ kind: 'hopeless', says });
