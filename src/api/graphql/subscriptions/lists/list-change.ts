import { builder } from '../../builder.ts'

export const ListChangeEnum = builder.enumType('ListChange', {
  description: 'What happened to a row of a live list.',
  values: {
    INSERTED: { description: 'It was not in the list before.' },
    UPDATED: { description: 'It changed, and the rows around it did not.' },
    MOVED: { description: 'It changed, and is elsewhere in the list.' },
  },
})
