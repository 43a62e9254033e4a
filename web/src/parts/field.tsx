// A labelled input; what is wrong with it is said under it, and to screen readers.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  hint?: string;
  error?: string | undefined;
  options?: string[] | undefined; // Only these.
  suggestions?: string[]; // These, or another.
  rows?: number; // Of text; otherwise one line.
  type?: string;
  placeholder?: string;
  required?: boolean;
  disabled?: boolean;
  autoFocus?: boolean;
}

export function Field(props: FieldProps) {
  const id = useId();
  const note = props.error ?? props.hint;
  const common = {
    id,
    value: props.value,
    disabled: props.disabled ?? false,
    required: props.required ?? false,
    "aria-invalid": props.error !== undefined,
    "aria-describedby": note ? `${id}-note` : undefined,
    onInput: (event: { currentTarget: { value: string } }) => props.onInput(event.currentTarget.value),
  };
  const plain = { spellcheck: false, autocomplete: "off", autocapitalize: "off" as const, placeholder: props.placeholder };
  let input: ComponentChildren;
  if (props.options) {
    input = (
      <select {...common}>
        {props.options.map((each) => (
          <option key={each} value={each}>
            {each || "any"}
          </option>
        ))}
      </select>
    );
  } else if (props.rows) {
    input = <textarea {...common} {...plain} rows={props.rows} class="mono" />;
  } else {
    input = (
      <input
        {...common}
        {...plain}
        type={props.type ?? "text"}
        list={props.suggestions ? `${id}-list` : undefined}
        autoFocus={props.autoFocus ?? false}
      />
    );
  }
  return (
    <div class={`field ${props.error ? "wrong" : ""}`}>
      <label for={id}>{props.label}</label>
      {input}
      {props.suggestions && (
        <datalist id={`${id}-list`}>
          {props.suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {note && (
        <p id={`${id}-note`} class={props.error ? "field-error" : "field-hint"}>
          {props.error ?? props.hint}
        </p>
      )}
    </div>
  );
}
