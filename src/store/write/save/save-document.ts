import { storableJsonText } from '../../../domain/text.ts'
import type { Statement } from '../contract.ts'

/** Saves the body of an instance, which is returned unchanged (store/read/orchestration/documents.ts). `document`: JSON. */
export function saveDocument(instanceKey: number, document: string): Statement {
  return {
    text: 'update instances set document = $2::text::json where key = $1::bigint',
    parameters: [instanceKey, storableJsonText(document)],
  }
}
